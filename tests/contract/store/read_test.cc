// The store's reads: filters, pages, events, names.
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using ReadContract = StoreContract;

std::vector<std::int64_t> IdsOf(const Result<std::vector<JobPtr>>& jobs) {
  std::vector<std::int64_t> ids;
  if (!jobs.ok()) return {-1};
  for (const JobPtr& job : *jobs) ids.push_back(job->id.value);
  return ids;
}

using Ids = std::vector<std::int64_t>;

TEST_P(ReadContract, EachFilterNarrowsTheList) {
  auto research = DraftJob(2);
  research->ns = "research";
  auto bob = DraftJob(3);
  bob->user = "bob";
  auto side = DraftJob(4);
  side->local_queue = "side";
  side->display_name = "called so";
  auto ray = DraftJob(5);
  ray->shape = ShapeKind::kRayJob;
  auto ended = DraftJob(6);
  for (const auto& job : {DraftJob(1), research, bob, side, ray, ended})
    MustAccept(store(), epoch(), job);
  PlanCommit commit;
  commit.jobs = {EndedCopy(*ended, JobState::kFailed, 1)};
  MustCommit(commit);
  const WallTime end = commit.jobs[0]->end_time;

  JobQuery all;
  EXPECT_EQ(IdsOf(store().ReadJobs(all)), (Ids{1, 2, 3, 4, 5, 6}));
  JobQuery query = all;
  query.ns = "research";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{2});
  query = all;
  query.user = "bob";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{3});
  query = all;
  query.queue = "side";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{4});
  query = all;
  query.shape = ShapeKind::kRayJob;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{5});
  query = all;
  query.state = JobState::kFailed;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{6});
  query = all;
  query.name = bob->name;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{3});
  query.name = "called so";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{4}) << "what a batch script was called";
  query.name = "nobody' or 1=1 --";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{});
  query = all;
  query.ended_since = end;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{6});
  query.ended_since.us += 1;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{});
  query = all;
  query.ns = "default";
  query.user = "ada";
  query.state = JobState::kPending;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), (Ids{1, 4, 5}));
}

TEST_P(ReadContract, PagesFollowTheNumber) {
  for (std::int64_t id = 1; id <= 5; ++id) MustAccept(store(), epoch(), DraftJob(id * 10));
  JobQuery query;
  query.limit = 2;
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), (Ids{10, 20}));
  query.after = JobId{20};
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), (Ids{30, 40}));
  query.after = JobId{40};
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{50});
}

TEST_P(ReadContract, JobsAreReadByTheirIdsInTheOrderOfTheIds) {
  for (std::int64_t id = 1; id <= 5; ++id) MustAccept(store(), epoch(), DraftJob(id));
  JobQuery query;
  query.ids = {JobId{4}, JobId{2}, JobId{2}, JobId{77}};
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), (Ids{2, 4}));
  query.after = JobId{2};
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{4});
  query.user = "bob";
  EXPECT_EQ(IdsOf(store().ReadJobs(query)), Ids{}) << "the other filters count too";
}

TEST_P(ReadContract, ManifestsComeInTheOrderAsked) {
  for (const std::int64_t id : {1, 2, 3}) {
    const auto answers =
        AcceptNow(store(), epoch(), {MakeNew(DraftJob(id), "{\"n\":" + std::to_string(id) + "}")});
    ASSERT_TRUE(answers.ok());
  }
  const auto manifests = store().ReadManifests({JobId{3}, JobId{1}, JobId{3}});
  ASSERT_TRUE(manifests.ok());
  EXPECT_EQ(*manifests, (std::vector<std::string>{"{\"n\":3}", "{\"n\":1}", "{\"n\":3}"}));
  EXPECT_TRUE(store().ReadManifests({})->empty());
  const auto missing = store().ReadManifests({JobId{1}, JobId{9}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_EQ(missing.error().detail, "there is no job 9");
}

TEST_P(ReadContract, JobsAreFoundByNameKindAndUid) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(4, "train"));
  EXPECT_EQ(*store().FindJob("default", ShapeKind::kJob, "train"), JobId{4});
  EXPECT_EQ(*store().FindJob(job->uid), JobId{4});
  EXPECT_EQ(store().FindJob("other", ShapeKind::kJob, "train").error().code, Code::kNotFound);
  EXPECT_EQ(store().FindJob("default", ShapeKind::kRayJob, "train").error().code, Code::kNotFound);
  EXPECT_EQ(store().FindJob("default", ShapeKind::kJob, "train' or 1=1 --").error().code,
            Code::kNotFound);
  EXPECT_EQ(store().FindJob(Uid{1, 2}).error().code, Code::kNotFound);
  EXPECT_EQ(store().ReadJob(JobId{9}).error().code, Code::kNotFound);
}

TEST_P(ReadContract, AcceptanceIsTheFirstEventOfAJobAndEventsAreInOrder) {
  MustAccept(store(), epoch(), DraftJob(1));
  MustAccept(store(), epoch(), DraftJob(5));
  PlanCommit commit;
  commit.events = {
      {3, {30}, "ObjectApplied", JobId{}, "cohort/a", "", ""},
      {7, {70}, "JobAdmitted", JobId{1}, "job/default/job-1", "QuotaReserved", "in team-a"},
      {8, {80}, "JobAdmitted", JobId{5}, "job/default/job-5", "", ""}};
  MustCommit(commit);
  const auto all = store().ReadEvents(0, JobId{}, 100);
  ASSERT_TRUE(all.ok()) << all.error().detail;
  std::vector<std::int64_t> numbers;
  for (const Event& event : *all) numbers.push_back(event.seq);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{1, 3, 5, 7, 8}));
  const Event& accepted = (*all)[0];
  EXPECT_EQ(accepted.type, "JobAccepted");
  EXPECT_EQ(accepted.job, JobId{1});
  EXPECT_EQ(accepted.object, "job/default/job-1");
  EXPECT_EQ(accepted.time.us, 1'700'000'000'000'001);
  EXPECT_EQ((*all)[1].job, JobId{}) << "an object's event names no job";
  const Event& admitted = (*all)[3];
  EXPECT_EQ(admitted.type, "JobAdmitted");
  EXPECT_EQ(admitted.time.us, 70);
  EXPECT_EQ(admitted.reason, "QuotaReserved");
  EXPECT_EQ(admitted.message, "in team-a");

  const auto resumed = store().ReadEvents(3, JobId{}, 2);
  ASSERT_EQ(resumed->size(), 2U);
  EXPECT_EQ((*resumed)[0].seq, 5);
  EXPECT_EQ((*resumed)[1].seq, 7);
  const auto of_job = store().ReadEvents(0, JobId{1}, 100);
  ASSERT_EQ(of_job->size(), 2U);
  EXPECT_EQ((*of_job)[0].type, "JobAccepted");
  EXPECT_EQ((*of_job)[1].seq, 7);
  EXPECT_TRUE(store().ReadEvents(8, JobId{}, 100)->empty());
}

TEST_P(ReadContract, TheAuditTrailIsReadNewestFirst) {
  PlanCommit commit;
  commit.audit = {{{1}, "ada", "loopback", "put", "clusterqueue/a", "nominal 4 -> 8"},
                  {{2}, "bob", "jwt", "delete", "cohort/x", ""}};
  MustCommit(commit);
  commit.audit = {{{3}, "eve", "loopback", "cancel", "job/7", ""}};
  MustCommit(commit);
  const auto rows = store().ReadAudit(2);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].user, "eve");
  EXPECT_EQ((*rows)[1].user, "bob");
  const AuditRow first = store().ReadAudit(10)->at(2);
  EXPECT_EQ(first.time.us, 1);
  EXPECT_EQ(first.method, "loopback");
  EXPECT_EQ(first.verb, "put");
  EXPECT_EQ(first.object, "clusterqueue/a");
  EXPECT_EQ(first.detail, "nominal 4 -> 8");
}

TEST_P(ReadContract, TheInstanceIsAUuidThatStays) {
  const auto first = store().InstanceId();
  ASSERT_TRUE(first.ok());
  Uid parsed;
  EXPECT_TRUE(Uid::Parse(*first, &parsed)) << *first;
  EXPECT_EQ(*first, *store().InstanceId());
}

TEST_P(ReadContract, ObjectsOfAKind_AreReadInTheirOrderAndNoOthers) {
  PlanCommit commit;
  for (const auto& [kind, name] : {std::pair{ObjectKind::kSecret, "b"},
                                   {ObjectKind::kSecret, "a"},
                                   {ObjectKind::kConfigMap, "c"}}) {
    auto object = std::make_shared<StoredObject>();
    object->kind = kind;
    object->ns = "default";
    object->name = name;
    object->uid = Uid{9, static_cast<std::uint64_t>(name[0])};
    object->manifest = "{}";
    commit.objects.push_back({std::move(object), false});
  }
  ASSERT_TRUE(TryCommit(std::move(commit)).ok());
  const auto secrets = store().ReadObjects(ObjectKind::kSecret);
  ASSERT_TRUE(secrets.ok()) << secrets.error().detail;
  ASSERT_EQ(secrets->size(), 2U);
  EXPECT_EQ(secrets->front()->name, "a");
  EXPECT_EQ(secrets->back()->name, "b");
  EXPECT_EQ(secrets->front()->manifest, "{}");
  EXPECT_TRUE(store().ReadObjects(ObjectKind::kCohort)->empty());
}

TEST_P(ReadContract, PingAnswers) { EXPECT_TRUE(store().Ping().ok()); }

INSTANTIATE_TEST_SUITE_P(Stores, ReadContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
