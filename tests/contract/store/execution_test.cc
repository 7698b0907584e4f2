// Attempts and dispatches: what the store refuses so that no job runs twice.
#include "tests/contract/store/contract.h"

namespace muster::test {
namespace {

using ExecutionContract = StoreContract;

AttemptRecord SomeAttempt(const JobRecord& job, std::int32_t number) {
  AttemptRecord attempt;
  attempt.job = job.id;
  attempt.attempt = number;
  attempt.cluster = "east";
  attempt.admit_time.us = 100;
  attempt.outcome = JobState::kRunning;
  attempt.admission = SomeAdmission();
  return attempt;
}

TEST_P(ExecutionContract, AJobCannotHaveTwoLiveDispatches) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit first, second;
  first.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kRunning)};
  MustCommit(first);
  DispatchRow again = SomeDispatch(*job, 2, "west", DispatchState::kIntent);
  second.dispatches = {again};
  const auto refused = TryCommit(second);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(refused.error().detail, "the job already has a live attempt");
  // An unreachable member's attempt counts as live, a lost one does not.
  first.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kUnknown)};
  MustCommit(first);
  EXPECT_FALSE(TryCommit(second).ok());
  first.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kLost)};
  MustCommit(first);
  MustCommit(second);
}

TEST_P(ExecutionContract, OneCommitHandsAJobFromOneAttemptToTheNextInAnyOrder) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kRunning)};
  MustCommit(commit);
  commit.dispatches = {SomeDispatch(*job, 2, "east", DispatchState::kIntent),
                       SomeDispatch(*job, 1, "east", DispatchState::kGone)};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.dispatches.size(), 1U);
  EXPECT_EQ(loaded.dispatches[0].key.attempt, 2);
}

TEST_P(ExecutionContract, AnObjectNameIsReservedUntilItsObjectIsGone) {
  const JobPtr first = MustAccept(store(), epoch(), DraftJob(1));
  const JobPtr second = MustAccept(store(), epoch(), DraftJob(2));
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*first, 1, "east", DispatchState::kTerminal)};
  MustCommit(commit);
  DispatchRow clash = SomeDispatch(*second, 1, "east", DispatchState::kIntent);
  clash.name = first->name;
  commit.dispatches = {clash};
  const auto refused = TryCommit(commit);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().detail,
            "another attempt still holds this object name on the member cluster");
  DispatchRow elsewhere = clash, other_kind = clash;
  other_kind.object_kind = "RayJob";
  commit.dispatches = {other_kind};
  MustCommit(commit);
  elsewhere.key.attempt = 2;
  elsewhere.key.cluster = "west";
  other_kind.state = DispatchState::kGone;
  commit.dispatches = {other_kind, elsewhere};
  MustCommit(commit);
  commit.dispatches = {SomeDispatch(*first, 1, "east", DispatchState::kGone)};
  MustCommit(commit);
  EXPECT_EQ(LoadAll().dispatches.size(), 1U);
}

TEST_P(ExecutionContract, AnAttemptStaysOnItsCluster) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kIntent)};
  MustCommit(commit);
  commit.dispatches = {SomeDispatch(*job, 1, "west", DispatchState::kIntent)};
  const auto refused = TryCommit(commit);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().detail, "the attempt was dispatched to another member cluster");
}

TEST_P(ExecutionContract, ADispatchIsUpdatedByItsKey) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*job, 1, "east", DispatchState::kIntent)};
  MustCommit(commit);
  DispatchRow running = SomeDispatch(*job, 1, "east", DispatchState::kRunning);
  running.detail = "taken over";
  running.incarnation = "inc-2";
  commit.dispatches = {running};
  MustCommit(commit);
  const StoredWorld loaded = LoadAll();
  ASSERT_EQ(loaded.dispatches.size(), 1U);
  const DispatchRow& row = loaded.dispatches[0];
  EXPECT_EQ(row.key, running.key);
  EXPECT_EQ(row.job, JobId{1});
  EXPECT_EQ(row.state, DispatchState::kRunning);
  EXPECT_EQ(row.remote_uid, "remote-1");
  EXPECT_EQ(row.detail, "taken over");
  EXPECT_EQ(row.incarnation, "inc-2");
  EXPECT_EQ(row.object_kind, "Job");
  EXPECT_EQ(row.name, "job-1");
}

TEST_P(ExecutionContract, ADispatchOfAnUnknownJobIsRefused) {
  PlanCommit commit;
  commit.dispatches = {SomeDispatch(*DraftJob(5), 1, "east", DispatchState::kIntent)};
  EXPECT_EQ(TryCommit(commit).error().code, Code::kFailedPrecondition);
}

TEST_P(ExecutionContract, AnAttemptIsClosedOnceAndKeptAsItWas) {
  const JobPtr job = MustAccept(store(), epoch(), DraftJob(1));
  AttemptRecord attempt = SomeAttempt(*job, 1);
  PlanCommit commit;
  commit.attempts = {attempt};
  MustCommit(commit);
  attempt.start_time.us = 200;
  attempt.end_time.us = 300;
  attempt.outcome = JobState::kFailed;
  attempt.reason = Reason::kOutOfMemory;
  attempt.message = "exit 3";
  attempt.exit_code = 3;
  attempt.exit_signal = 11;
  commit.attempts = {attempt};
  MustCommit(commit);
  AttemptRecord rewritten = attempt;
  rewritten.exit_code = 0;
  rewritten.outcome = JobState::kSucceeded;
  commit.attempts = {rewritten, SomeAttempt(*job, 2)};
  MustCommit(commit);
  const auto read = store().ReadAttempts({JobId{1}, JobId{44}});
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2U);
  const AttemptRecord& closed = (*read)[0];
  EXPECT_EQ(closed.attempt, 1);
  EXPECT_EQ(closed.outcome, JobState::kFailed);
  EXPECT_EQ(closed.exit_code, 3);
  EXPECT_EQ(closed.exit_signal, 11);
  EXPECT_EQ(closed.reason, Reason::kOutOfMemory);
  EXPECT_EQ(closed.message, "exit 3");
  EXPECT_EQ(closed.admit_time.us, 100);
  EXPECT_EQ(closed.start_time.us, 200);
  EXPECT_EQ(closed.end_time.us, 300);
  EXPECT_EQ(closed.cluster, "east");
  EXPECT_EQ(*closed.admission, *SomeAdmission());
  EXPECT_EQ((*read)[1].attempt, 2);
  EXPECT_FALSE((*read)[1].end_time.set());
  EXPECT_FALSE((*read)[1].exit_code.has_value());
}

TEST_P(ExecutionContract, AnAttemptOfAnUnknownJobIsRefused) {
  PlanCommit commit;
  commit.attempts = {SomeAttempt(*DraftJob(5), 1)};
  EXPECT_EQ(TryCommit(commit).error().code, Code::kFailedPrecondition);
}

INSTANTIATE_TEST_SUITE_P(Stores, ExecutionContract, ::testing::Values("memory", "postgres"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace muster::test
