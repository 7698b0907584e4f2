// Store::Commit: state rows, deletions, usage, objects, events, audit; all or nothing.
#include "schedd/model/scale_lifecycle.h"
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using CommitContract = StoreContract;

TEST_P(CommitContract, AStateRowIsReplacedWhole) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit admits;
  auto admitted = AdmittedCopy(*job, "east");
  admitted->deletion_requested = true;
  admitted->suspended_by_user = true;
  admitted->requeues = 2;
  admitted->ready_pods = 1;
  admitted->succeeded_pods = 2;
  admitted->failed_pods = 3;
  admitted->start_time.us = 1'700'000'001'000'001;
  admitted->conditions = std::make_shared<const std::vector<Condition>>(
      std::vector<Condition>{{"Admitted", "Admitted", "", true, {1'700'000'000'999'999}}});
  admits.jobs.push_back(admitted);
  MustCommit(admits);
  JobPtr read = *store().ReadJob(JobId{1});
  EXPECT_EQ(read->state, JobState::kAdmitted);
  EXPECT_TRUE(read->deletion_requested);
  EXPECT_TRUE(read->suspended_by_user);
  EXPECT_EQ(read->reason, Reason::kDispatching);
  EXPECT_EQ(read->message, "");
  EXPECT_EQ(read->cluster, "east");
  EXPECT_EQ(read->attempt, 1);
  EXPECT_EQ(*read->admission, *SomeAdmission());
  EXPECT_EQ(read->admit_time, admitted->admit_time);
  EXPECT_EQ(read->start_time, admitted->start_time);
  EXPECT_EQ(read->requeues, 2);
  EXPECT_EQ(read->ready_pods, 1);
  EXPECT_EQ(read->succeeded_pods, 2);
  EXPECT_EQ(read->failed_pods, 3);
  EXPECT_EQ(read->resource_version, 1001);
  EXPECT_EQ(*read->conditions, *admitted->conditions);

  PlanCommit ends;
  auto ended = EndedCopy(*admitted, JobState::kFailed, 3);
  ended->exit_signal = 9;
  ended->reason = Reason::kOutOfMemory;
  ended->conditions = nullptr;
  ends.jobs.push_back(ended);
  MustCommit(ends);
  read = *store().ReadJob(JobId{1});
  EXPECT_EQ(read->state, JobState::kFailed);
  EXPECT_EQ(read->admission, nullptr);
  EXPECT_EQ(read->conditions, nullptr);
  EXPECT_EQ(read->exit_code, 3);
  EXPECT_EQ(read->exit_signal, 9);
  EXPECT_EQ(read->reason, Reason::kOutOfMemory);
  EXPECT_EQ(read->end_time, ended->end_time);
}

std::shared_ptr<const AdmissionState> FullState() {
  AdmissionState state;
  state.active = false;
  state.deactivation_cause = "AdmissionCheck";
  state.requeue_count = 2;
  state.requeue_at = WallTime{1'700'000'000'123'456};
  AdmissionCheckStatus check{"budget", CheckState::kRetry, "wait", WallTime{5}, 30, 1, {}};
  check.updates = {
      {"main", {{"a", "b"}}, {{"c", "d"}}, {{"e", "f"}}, {{"k", "Exists", "", "", 7}}}};
  state.checks = {check};
  state.reclaimable = {{"main", 1}};
  state.unhealthy_nodes = {"n1"};
  state.owned_by_pod = true;
  state.preemption_gates = {{"g", true}};
  state.admission_gated_by = "somebody";
  state.past_execution_s = 17;
  state.evictions = {{"Preempted", "", 3}};
  state.replaces_slice = "default/a";
  state.concurrent_parent = "default/b";
  state.allowed_flavors = std::vector<std::string>{"spot"};
  state.resource_problem = "too much";
  ElasticScale scale;
  scale.generation = 3;
  scale.size = {1, 5};
  scale.slice = Uid{1, 2};
  scale.pending = PendingSlice{Uid{3, 4}, {4, std::nullopt},        WallTime{7},
                               11,        Reason::kWaitingForQuota, "2 more needed"};
  scale.finished = {{Uid{5, 6}, 1, WallTime{6}, "replaced"}};
  state.scale = scale;
  state.avoided = {{"east", WallTime{1'700'000'600'000'000}}, {"west", WallTime{7}}};
  state.nominated = {"west", "east"};
  return std::make_shared<const AdmissionState>(state);
}

TEST_P(CommitContract, WhatAdmissionCollectsIsKeptWhole) {
  auto draft = DraftJob(1);
  draft->priority_boost = 3;
  draft->max_execution_s = 60;
  draft->elastic = true;
  const JobPtr job = MustAccept(store(), epoch(), draft);
  JobPtr read = *store().ReadJob(JobId{1});
  EXPECT_EQ(read->priority_boost, 3);
  EXPECT_EQ(read->max_execution_s, 60);
  EXPECT_TRUE(read->elastic);
  EXPECT_EQ(read->admission_state, nullptr);
  auto reserved = AdmittedCopy(*job, "east");
  reserved->state = JobState::kReserved;
  reserved->attempt = 0;
  reserved->priority_class = "high";
  reserved->priority = 100;
  reserved->cluster_queue = "team-b";
  reserved->admission_state = FullState();
  TakeScaledPods(reserved.get());
  PlanCommit commit;
  commit.jobs.push_back(reserved);
  MustCommit(commit);
  read = LoadAll().jobs.at(0);
  EXPECT_EQ(read->state, JobState::kReserved) << "one that is not dispatched is no ended one";
  EXPECT_EQ(read->priority_class, "high");
  EXPECT_EQ(read->priority, 100);
  EXPECT_EQ(read->cluster_queue, "team-b");
  ASSERT_NE(read->admission_state, nullptr);
  EXPECT_EQ(*read->admission_state, *FullState());
  EXPECT_EQ(read->pod_sets->front().count, 1) << "the pods of the size, not of the submission";
  auto broken = std::make_shared<JobRecord>(*reserved);
  broken->admission = nullptr;
  commit.jobs = {broken};
  EXPECT_FALSE(TryCommit(commit).ok()) << "a reserved job holds quota";
}

TEST_P(CommitContract, AnExitCodeOfZeroIsNotTheSameAsNone) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit ends;
  ends.jobs.push_back(EndedCopy(*job, JobState::kSucceeded, 0));
  MustCommit(ends);
  ASSERT_TRUE((*store().ReadJob(JobId{1}))->exit_code.has_value());
  EXPECT_EQ((*store().ReadJob(JobId{1}))->exit_code, 0);
}

TEST_P(CommitContract, TheLastOfTwoRecordsOfOneJobStays) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  const auto admitted = AdmittedCopy(*job, "east");
  commit.jobs = {admitted, EndedCopy(*admitted, JobState::kCancelled, 0)};
  MustCommit(commit);
  EXPECT_EQ((*store().ReadJob(JobId{1}))->state, JobState::kCancelled);
}

TEST_P(CommitContract, OneRefusedChangeUndoesTheWholeCommit) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.jobs.push_back(AdmittedCopy(*job, "east"));
  commit.usage.push_back({"team-a", "spot", "cpu", 2000});
  commit.dispatches.push_back(SomeDispatch(*job, 1, "east", DispatchState::kIntent));
  commit.objects.push_back({SomeObject(ObjectKind::kNamespace, "", "research", 5), false});
  commit.events.push_back({1001, {1}, "JobAdmitted", JobId{1}, "job/default/job-1", "", ""});
  commit.audit.push_back({{1}, "ada", "loopback", "apply", "namespace/research", ""});
  commit.jobs.push_back(AdmittedCopy(*DraftJob(99), "east"));  // was never accepted
  const auto version = TryCommit(commit);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(version.error().detail, "a job of this change does not exist");
  const StoredWorld loaded = LoadAll();
  EXPECT_EQ(loaded.jobs.at(0)->state, JobState::kPending);
  EXPECT_TRUE(loaded.usage.empty());
  EXPECT_TRUE(loaded.dispatches.empty());
  EXPECT_TRUE(loaded.objects.empty());
  EXPECT_TRUE(store().ReadEvents(1, JobId{}, 10)->empty());
  EXPECT_TRUE(store().ReadAudit(10)->empty());
  commit.jobs.pop_back();
  MustCommit(commit);
  EXPECT_EQ(LoadAll().usage.size(), 1U) << "without the bad change the same commit is taken";
}

TEST_P(CommitContract, NothingIsCommittedAfterARefusalUntilSomebodyLeadsAgain) {
  PlanCommit bad, good;
  bad.usage = {{"team-a", "spot", "cpu", -1}};
  good.usage = {{"team-a", "spot", "cpu", 1}};
  EXPECT_EQ(CommitNow(store(), epoch(), bad).error().code, Code::kFailedPrecondition);
  const auto based_on_it = CommitNow(store(), epoch(), good);
  ASSERT_FALSE(based_on_it.ok());
  EXPECT_EQ(based_on_it.error().code, Code::kAborted);
  NewLead();
  EXPECT_TRUE(LoadAll().usage.empty());
  MustCommit(good);
  EXPECT_EQ(LoadAll().usage.size(), 1U);
}

TEST_P(CommitContract, ALateRefusalUndoesWhatCameBefore) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit first;
  first.events.push_back({50, {1}, "ObjectApplied", JobId{}, "cohort/a", "", ""});
  MustCommit(first);
  PlanCommit second;
  second.jobs.push_back(AdmittedCopy(*job, "east"));
  second.usage.push_back({"team-a", "spot", "cpu", 2000});
  second.events.push_back(
      {50, {1}, "JobAdmitted", JobId{1}, "job/default/job-1", "", ""});  // taken
  const auto version = TryCommit(second);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().detail, "the event number is taken");
  EXPECT_EQ((*store().ReadJob(JobId{1}))->state, JobState::kPending);
  EXPECT_TRUE(LoadAll().usage.empty());
}

TEST_P(CommitContract, UsageIsAbsoluteAndZeroIsForgotten) {
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 2000},
                  {"team-a", "spot", "memory", 7},
                  {"team-a", "spot", "cpu", 3000}};
  MustCommit(commit);
  commit.usage = {{"team-a", "spot", "memory", 0}};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.usage.size(), 1U);
  EXPECT_EQ(loaded.usage[0].resource, "cpu");
  EXPECT_EQ(loaded.usage[0].amount, 3000);
}

TEST_P(CommitContract, NegativeUsageIsRefused) {
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", -1}};
  const auto version = TryCommit(commit);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().detail, "quota usage cannot be negative");
}

struct QuotaRule {
  const char* name;
  JobState state;
  bool admission;
  bool allowed;
};

TEST_P(CommitContract, AJobHoldsAnAdmissionExactlyWhileItHoldsQuota) {
  const QuotaRule rules[] = {
      {"pending without", JobState::kPending, false, true},
      {"pending with", JobState::kPending, true, false},
      {"held with", JobState::kHeld, true, false},
      {"admitted with", JobState::kAdmitted, true, true},
      {"admitted without", JobState::kAdmitted, false, false},
      {"running without", JobState::kRunning, false, false},
      {"running with", JobState::kRunning, true, true},
      {"failed with", JobState::kFailed, true, true},
  };
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  for (const QuotaRule& rule : rules) {
    auto changed = AdmittedCopy(*job, "east");
    changed->state = rule.state;
    if (!rule.admission) changed->admission = nullptr;
    PlanCommit commit;
    commit.jobs.push_back(changed);
    EXPECT_EQ(TryCommit(commit).ok(), rule.allowed) << rule.name;
  }
}

TEST_P(CommitContract, OnlyWhatHasEndedIsDeleted) {
  MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.deleted_jobs.push_back(JobId{1});
  EXPECT_EQ(TryCommit(commit).error().code, Code::kFailedPrecondition);
  commit.jobs.push_back(EndedCopy(**store().ReadJob(JobId{1}), JobState::kCancelled, 0));
  MustCommit(commit);  // ended and deleted in one step
  MustCommit(commit);  // and once more: nothing changes
  JobQuery query;
  EXPECT_TRUE(store().ReadJobs(query)->empty());
  query.include_deleted = true;
  EXPECT_EQ(store().ReadJobs(query)->size(), 1U);
}

TEST_P(CommitContract, EveryKindOfObjectIsKeptReplacedAndRemoved) {
  const std::pair<ObjectKind, const char*> kinds[] = {
      {ObjectKind::kNamespace, ""},
      {ObjectKind::kResourceFlavor, ""},
      {ObjectKind::kClusterQueue, ""},
      {ObjectKind::kCohort, ""},
      {ObjectKind::kLocalQueue, "ns1"},
      {ObjectKind::kWorkloadPriorityClass, ""},
      {ObjectKind::kMemberCluster, ""},
      {ObjectKind::kConfigMap, "ns1"},
      {ObjectKind::kSecret, "ns1"},
      {ObjectKind::kTopology, ""},
      {ObjectKind::kAdmissionCheck, ""},
      {ObjectKind::kLimitRange, "ns1"},
      {ObjectKind::kRuntimeClass, ""},
      {ObjectKind::kClusterResourcePlacement, ""},
      {ObjectKind::kResourcePlacement, "ns1"},
      {ObjectKind::kClusterResourcePlacementEviction, ""},
      {ObjectKind::kResourcePlacementEviction, "ns1"},
      {ObjectKind::kClusterResourcePlacementDisruptionBudget, ""},
      {ObjectKind::kResourcePlacementDisruptionBudget, "ns1"},
      {ObjectKind::kClusterResourceOverride, ""},
      {ObjectKind::kResourceOverride, "ns1"},
      {ObjectKind::kClusterResourceEnvelope, ""},
      {ObjectKind::kResourceEnvelope, "ns1"},
      {ObjectKind::kRole, "ns1"},
      {ObjectKind::kClusterRole, ""},
      {ObjectKind::kRoleBinding, "ns1"},
      {ObjectKind::kClusterRoleBinding, ""},
      {ObjectKind::kAccessToken, ""}};
  PlanCommit puts, replaces, removes;
  for (const auto& [kind, ns] : kinds) {
    puts.objects.push_back({SomeObject(kind, ns, "x", 1), false});
    auto changed = std::make_shared<StoredObject>(*SomeObject(kind, ns, "x", 2));
    changed->generation = 2;
    changed->manifest = R"({"spec":"new"})";
    replaces.objects.push_back({changed, false});
    removes.objects.push_back({changed, true});
  }
  puts.objects.push_back({SomeObject(ObjectKind::kLocalQueue, "ns2", "x", 1), false});
  MustCommit(puts);
  EXPECT_EQ(LoadAll().objects.size(), 29U);
  MustCommit(replaces);
  StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.objects.size(), 29U);
  for (const ObjectPtr& object : loaded.objects) {
    if (object->ns == "ns2") continue;
    EXPECT_EQ(object->generation, 2);
    EXPECT_EQ(object->resource_version, 2);
    EXPECT_EQ(object->manifest, R"({"spec":"new"})");
    EXPECT_EQ(object->uid, SomeObject(object->kind, object->ns, "x", 1)->uid);
    EXPECT_EQ(object->creation_time.us, 1'700'000'000'000'000);
  }
  MustCommit(removes);
  loaded = LoadAll();
  ASSERT_EQ(loaded.objects.size(), 1U);
  EXPECT_EQ(loaded.objects[0]->ns, "ns2") << "a name is removed in its own namespace only";
}

TEST_P(CommitContract, PutAndRemoveInOneCommitTheLastWins) {
  PlanCommit commit;
  commit.objects = {{SomeObject(ObjectKind::kCohort, "", "a", 1), false},
                    {SomeObject(ObjectKind::kCohort, "", "a", 1), true},
                    {SomeObject(ObjectKind::kCohort, "", "b", 1), true},
                    {SomeObject(ObjectKind::kCohort, "", "b", 1), false}};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.objects.size(), 1U);
  EXPECT_EQ(loaded.objects[0]->name, "b");
}

TEST_P(CommitContract, TheVersionIsTheHighestEventNumber) {
  PlanCommit commit;
  commit.events = {{7, {1}, "ObjectApplied", JobId{}, "cohort/a", "", ""},
                   {9, {1}, "ObjectApplied", JobId{}, "cohort/b", "", ""}};
  const auto version = TryCommit(commit);
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->last_seq, 9);
  EXPECT_EQ(CommitNow(store(), epoch(), PlanCommit{})->last_seq, 9)
      << "an empty commit changes nothing";
}

TEST_P(CommitContract, APassedEpochCannotCommit) {
  const Epoch old = epoch();
  NewLead();
  PlanCommit commit;
  commit.usage = {{"team-a", "spot", "cpu", 1}};
  const auto version = CommitNow(store(), old, commit);
  ASSERT_FALSE(version.ok());
  EXPECT_EQ(version.error().code, Code::kAborted);
  EXPECT_TRUE(LoadAll().usage.empty());
}

TEST_P(CommitContract, TextWithQuotesNewlinesAndUnicodeSurvives) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  auto changed = std::make_shared<JobRecord>(*job);
  changed->message = "it's {\"odd\"}, \\ back\nslash, Zürich 東京 🚀";
  PlanCommit commit;
  commit.jobs.push_back(changed);
  commit.events.push_back(
      {10, {5}, "JobPending", JobId{1}, "job/default/job-1", "Odd", changed->message});
  MustCommit(commit);
  EXPECT_EQ((*store().ReadJob(JobId{1}))->message, changed->message);
  EXPECT_EQ(store().ReadEvents(1, JobId{}, 10)->at(0).message, changed->message);
}

INSTANTIATE_TEST_SUITE_P(Stores, CommitContract, ::testing::Values("memory", "postgres", "sealed"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
