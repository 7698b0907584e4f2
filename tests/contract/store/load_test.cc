// Store::Load: the state that recovery starts from.
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using LoadContract = StoreContract;

TEST_P(LoadContract, AnEmptyStoreLoadsEmpty) {
  const StoredWorld loaded = LoadAll();
  EXPECT_TRUE(loaded.jobs.empty());
  EXPECT_TRUE(loaded.objects.empty());
  EXPECT_EQ(loaded.last_job_id, JobId{0});
  EXPECT_EQ(loaded.last_seq, 0);
}

TEST_P(LoadContract, LiveJobsAndLateEndsComeByNumberOldEndsAndDeletedOnesDoNot) {
  for (std::int64_t id = 1; id <= 6; ++id) MustAccept(store(), epoch(), DraftJob(id));
  auto early = EndedCopy(**store().ReadJob(JobId{2}), JobState::kSucceeded, 0);
  early->end_time.us = 1000;
  auto late = EndedCopy(**store().ReadJob(JobId{1}), JobState::kSucceeded, 0);
  late->end_time.us = 2000;
  auto deleted = EndedCopy(**store().ReadJob(JobId{6}), JobState::kCancelled, 0);
  deleted->end_time.us = 3000;
  PlanCommit commit;
  commit.jobs = {early, late, deleted, AdmittedCopy(**store().ReadJob(JobId{4}), "east")};
  commit.deleted_jobs = {JobId{6}};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll({2000});
  std::vector<std::int64_t> ids;
  for (const JobPtr& job : loaded.jobs) ids.push_back(job->id.value);
  EXPECT_EQ(ids, (std::vector<std::int64_t>{1, 3, 4, 5}));
  EXPECT_EQ(loaded.jobs[2]->state, JobState::kAdmitted);
  EXPECT_EQ(*loaded.jobs[2]->admission, *SomeAdmission());
  EXPECT_EQ(loaded.last_job_id, JobId{6}) << "a deleted job's number is never given out again";
}

TEST_P(LoadContract, NumbersGoOnAfterTheHighestEverUsed) {
  MustAccept(store(), epoch(), DraftJob(10));  // accept_seq 10
  EXPECT_EQ(LoadAll().last_seq, 10);
  PlanCommit commit;
  commit.events = {{25, {1}, "ObjectApplied", JobId{}, "cohort/a", "", ""}};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().last_seq, 25);
  commit.events.clear();
  commit.objects = {{SomeObject(ObjectKind::kCohort, "", "a", 30), false}};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().last_seq, 30);
  auto changed = std::make_shared<JobRecord>(**store().ReadJob(JobId{10}));
  changed->resource_version = 40;
  commit.objects.clear();
  commit.jobs = {changed};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().last_seq, 40);
  EXPECT_EQ(LoadAll().last_job_id, JobId{10});
}

TEST_P(LoadContract, GoneDispatchesAreLeftOut) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kGone)};
  MustCommit(commit);
  EXPECT_TRUE(LoadAll().dispatches.empty());
  DispatchRow kept = SomeDispatch(*job, 2, "east", DispatchState::kTerminal);
  commit.dispatches = {kept};
  MustCommit(commit);
  ASSERT_EQ(LoadAll().dispatches.size(), 1U);
  EXPECT_EQ(LoadAll().dispatches[0].state, DispatchState::kTerminal);
}

TEST_P(LoadContract, WhatAQueueUsedLatelyIsTheLastThatWasWrittenUntilTheQueueIsGone) {
  PlanCommit commit;
  commit.fair_use = {{"default", "a", {{"cpu", 5}}, {7}},
                     {"default", "b", {{"cpu", 1}, {"memory", 1LL << 60}}, {8}},
                     {"other", "a", {}, {9}}};
  MustCommit(commit);
  commit.fair_use = {{"default", "a", {{"cpu", 6}}, {10}}, {"other", "a", {}, {}, true}};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.fair_use.size(), 2U);
  EXPECT_EQ(loaded.fair_use[0].local_queue, "a");
  EXPECT_EQ(loaded.fair_use[0].consumed, (ResourceList{{"cpu", 6}}));
  EXPECT_EQ(loaded.fair_use[0].updated.us, 10);
  EXPECT_EQ(AmountOf(loaded.fair_use[1].consumed, "memory"), 1LL << 60);
  EXPECT_EQ(AmountOf(loaded.fair_use[1].consumed, "cpu"), 1);
}

TEST_P(LoadContract, WhatIsSetAsideOnMembersStaysUntilItIsReleasedAndGone) {
  const SetAsideObject ahead{"east",
                             "uid-1",
                             {"batch/v1", "Job", "default", "train"},
                             Uid{7, 8},
                             3,
                             1LL << 40,
                             SetAsideReason::kAhead,
                             false,
                             {11}};
  SetAsideObject copy = ahead;
  copy.remote_uid = "uid-2";
  copy.reason = SetAsideReason::kCopy;
  PlanCommit commit;
  commit.set_aside = {{copy, false}, {ahead, false}};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().set_aside, (std::vector<SetAsideObject>{ahead, copy}));
  SetAsideObject released = ahead;
  released.released = true;
  commit.set_aside = {{released, false}, {copy, true}};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().set_aside, (std::vector<SetAsideObject>{released}));
  commit.set_aside = {{released, true}};
  MustCommit(commit);
  EXPECT_TRUE(LoadAll().set_aside.empty());
}

// Every field has a value of its own.
Work SomeWork(const std::string& ns, const std::string& placement, const std::string& cluster) {
  Work work;
  work.ns = ns;
  work.placement = placement;
  work.cluster = cluster;
  work.state = WorkState::kBound;
  work.snapshot = 3;
  work.overrides = {"ResourceOverride/a", "ClusterResourceOverride/\"b\""};
  work.policy = "77aa";
  work.rendered = "5f1c";
  work.override_error = "no \\ path";
  work.affinity_score = -7;
  work.spread_score = 8;
  work.abandon = true;
  work.waits = "member cluster east does not answer";
  work.scheduled_at = {1};
  work.bound_at = {2};
  work.synced_at = {3};
  ManifestStatus drifted;
  drifted.ref = {"kueue.x-k8s.io", "v1beta1", "LocalQueue", "ml", "train"};
  drifted.envelope = "ResourceEnvelope/ml";
  drifted.result = ManifestResult::kFoundDrifts;
  drifted.message = "it was changed: \xc3\xa9";
  drifted.applied = "77";
  drifted.remote_uid = "uid-1";
  drifted.generation = 1LL << 40;
  drifted.availability = ManifestAvailability::kNotTrackable;
  drifted.since = {4};
  drifted.differences = {{"/spec/clusterQueue", "a", "b"},
                         {"/metadata/labels/x~1y", std::nullopt, ""},
                         {"/data", "(redacted)", std::nullopt}};
  drifted.observed_at = {5};
  drifted.first_differed_at = {6};
  ManifestStatus pending;
  pending.ref = {"", "v1", "Namespace", "", "ml"};
  work.manifests = {pending, drifted};
  return work;
}

ResourceSnapshot SomeSnapshot(const std::string& placement, std::int32_t index) {
  return {"ml",
          placement,
          index,
          "hash",
          {7},
          {{{"", "v1", "Namespace", "", "ml"}, "", R"({"kind":"Namespace"})"},
           {{"", "v1", "ConfigMap", "ml", "c"}, "ResourceEnvelope/ml", R"({"data":{"k":"\n"}})"}}};
}

template <class Row>
std::vector<Row> ValuesOf(const std::vector<std::shared_ptr<const Row>>& rows) {
  std::vector<Row> values;
  for (const auto& row : rows) values.push_back(*row);
  return values;
}

TEST_P(LoadContract, WorksAreTheLastThatWereWrittenInEveryFieldUntilTheyEnd) {
  const Work first = SomeWork("ml", "queues", "east");
  Work bare;
  bare.placement = "queues";
  bare.cluster = "west";
  PlanCommit commit;
  commit.works = {std::make_shared<const Work>(first), std::make_shared<const Work>(bare)};
  MustCommit(commit);
  EXPECT_EQ(ValuesOf(LoadAll().works), (std::vector<Work>{bare, first}));
  Work other = SomeWork("", "queues", "west");  // every field of `bare` changes
  other.state = WorkState::kLeaving;
  commit.works = {std::make_shared<const Work>(other)};
  commit.ended_works = {KeyOf(first), WorkKey("", "never", "was")};
  MustCommit(commit);
  EXPECT_EQ(ValuesOf(LoadAll().works), (std::vector<Work>{other}));
}

TEST_P(LoadContract, SnapshotsStayUntilTheyEnd) {
  PlanCommit commit;
  for (const std::int32_t index : {10, 9}) {
    commit.snapshots.push_back(
        std::make_shared<const ResourceSnapshot>(SomeSnapshot("queues", index)));
  }
  MustCommit(commit);
  EXPECT_EQ(ValuesOf(LoadAll().snapshots),
            (std::vector<ResourceSnapshot>{SomeSnapshot("queues", 9), SomeSnapshot("queues", 10)}));
  commit.snapshots = {std::make_shared<const ResourceSnapshot>(SomeSnapshot("queues", 11))};
  commit.ended_snapshots = {SnapshotKey("ml", "queues", 9), SnapshotKey("ml", "other", 10)};
  MustCommit(commit);
  EXPECT_EQ(
      ValuesOf(LoadAll().snapshots),
      (std::vector<ResourceSnapshot>{SomeSnapshot("queues", 10), SomeSnapshot("queues", 11)}));
}

TEST_P(LoadContract, ACommitThatIsRefusedWritesNoWork) {
  PlanCommit commit;
  commit.works = {std::make_shared<const Work>(SomeWork("ml", "queues", "east"))};
  commit.snapshots = {std::make_shared<const ResourceSnapshot>(SomeSnapshot("queues", 1))};
  commit.usage = {{"cq", "default", "cpu", -1}};
  EXPECT_FALSE(TryCommit(commit).ok());
  EXPECT_TRUE(LoadAll().works.empty());
  EXPECT_TRUE(LoadAll().snapshots.empty());
}

TEST_P(LoadContract, PodSetsThatWereWrittenAgainAreTheNewOnes) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  auto changed = std::make_shared<JobRecord>(*job);
  auto pod_sets = std::make_shared<PodSets>(*job->pod_sets);
  SetAmount(&pod_sets->front().requests, "cpu", 2500);
  changed->pod_sets = pod_sets;
  PlanCommit commit;
  commit.jobs = {changed};
  commit.respecified = {changed};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  EXPECT_EQ(AmountOf(loaded.jobs.at(0)->pod_sets->front().requests, "cpu"), 2500);
}

TEST_P(LoadContract, WhatABatchScriptHasBecome_AndWhatItAsksForNow_AreLoadedAgain) {
  JobRecord draft = *DraftJob(1);
  auto batch = std::make_shared<BatchDetails>();
  batch->comment = "first";
  draft.batch = batch;
  draft.shape = ShapeKind::kBatchScript;
  const JobPtr job = MustAccept(store(), epoch(), std::make_shared<JobRecord>(draft));
  auto changed = std::make_shared<JobRecord>(*job);
  auto details = std::make_shared<BatchDetails>();
  details->comment = "second";
  changed->batch = details;
  changed->time_limit_s = 90;
  changed->local_queue = "elsewhere";
  changed->display_name = "other";
  BatchState state;
  state.dependencies = {{DependencyType::kAfterOk, JobId{7}, -1, 0, true},
                        {DependencyType::kAfter, JobId{8}, 3, 5, false}};
  state.any_dependency = state.kill_on_invalid_dependency = true;
  state.begin_at = WallTime{1'000'000};
  state.deadline = WallTime{2'000'000};
  state.held_by_admin = state.special_exit = true;
  state.nice = -5;
  state.own_priority = 0;
  state.suspended_since = WallTime{3'000'000};
  state.suspended_s = 4;
  state.waiting_tasks = {{0, 9, 3}};
  state.task_throttle = 2;
  state.changed_spec = R"({"comment":"second"})";
  state.partition_problem = "PartitionDown";
  state.client_until = WallTime{5'000'000};
  changed->batch_state = std::make_shared<const BatchState>(state);
  PlanCommit commit;
  commit.jobs = {changed};
  commit.respecified = {changed};
  MustCommit(commit);
  const JobPtr loaded = LoadAll().jobs.at(0);
  ASSERT_NE(loaded->batch_state, nullptr);
  EXPECT_EQ(*loaded->batch_state, state);
  EXPECT_EQ(loaded->batch->comment, "second");
  EXPECT_EQ(loaded->time_limit_s, 90);
  EXPECT_EQ(loaded->local_queue, "elsewhere");
  EXPECT_EQ(loaded->display_name, "other");
}

TEST_P(LoadContract, APassedEpochCannotLoad) {
  const Epoch old = epoch();
  NewLead();
  const auto loaded = store().Load(old, {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kAborted);
}

TEST_P(LoadContract, ManyJobsOfOneKindAreAllLoaded) {
  std::vector<NewJob> batch;
  for (std::int64_t id = 1; id <= 3000; ++id) batch.push_back(MakeNew(DraftJob(id)));
  const auto answers = AcceptNow(store(), epoch(), std::move(batch));
  ASSERT_TRUE(answers.ok()) << answers.error().detail;
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.jobs.size(), 3000U);
  for (std::size_t i = 0; i < 3000; ++i)
    ASSERT_EQ(loaded.jobs[i]->id.value, static_cast<std::int64_t>(i) + 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, LoadContract, ::testing::Values("memory", "postgres", "sealed"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
