// What keeps a batch script waiting beside dependencies, what ends it, and what changes it.
#include <gmock/gmock.h>

#include <csignal>

#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_gates.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/task_ranges.h"
#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

JobCommand VerbOf(JobVerb verb, JobId id, bool by_operator) {
  JobCommand command;
  command.verb = verb;
  command.id = id;
  command.by_operator = by_operator;
  return command;
}

class BatchTest : public ::testing::Test {
 protected:
  BatchTest() { world.Declare({{"cpu", 4000}}, {{"cpu", 64000}}); }

  JobId Submit(ScriptSpec spec) {
    const JobId id = SubmitScript(&world, spec);
    world.Run();
    return id;
  }
  void Pass(std::int64_t seconds) {
    world.clock.Advance(seconds * 1000);
    world.Run();
  }
  WallTime After(std::int64_t seconds) { return world.clock.WallNow().PlusSeconds(seconds); }
  Reason Why(JobId id) { return world.Job(id)->reason; }

  EngineWorld world;
};

TEST_F(BatchTest, Begin_HoldsAScriptBackUntilItsTime_AlsoOverARestart) {
  const JobId id = Submit({.state = StateWith([&](auto& s) { s.begin_at = After(60); })});
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(Why(id), Reason::kBeginTime);
  Pass(30);
  world.Restart();
  world.Run();
  EXPECT_EQ(Why(id), Reason::kBeginTime);
  Pass(29);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(1);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(BatchTest, Begin_IsMovedByAnUpdate) {
  const JobId id = Submit({.state = StateWith([&](auto& s) { s.begin_at = After(60); })});
  JobUpdate later;
  later.begin_at = std::optional<WallTime>(After(120));
  ASSERT_TRUE(Update(&world, id, later).ok());
  Pass(60);
  EXPECT_EQ(Why(id), Reason::kBeginTime);
  JobUpdate now;
  now.begin_at = std::optional<WallTime>();
  ASSERT_TRUE(Update(&world, id, now).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(BatchTest, AWaitAfterARequeue_IsShownAsBeginTime) {
  const ObjectChange queue = ClusterQueueObject({.nominal = {{"cpu", 4000}}});
  ASSERT_TRUE(world.Apply({WithAnnotation(queue, "muster.io/requeue-wait", "2m")}).ok());
  const JobId id = Submit({});
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  world.Run();
  EXPECT_EQ(Why(id), Reason::kBeginTime);
  EXPECT_THAT(world.Job(id)->message, HasSubstr("Requeued by alice"));
  Pass(120);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(BatchTest, Deadline_EndsWhatCannotEndInTime) {
  const JobId waits = Submit({.job = {.name = "waits", .held = true, .time_limit_s = 60},
                              .state = StateWith([&](auto& s) { s.deadline = After(100); })});
  const JobId runs = Submit({.job = {.name = "runs", .time_limit_s = 60},
                             .state = StateWith([&](auto& s) { s.deadline = After(100); })});
  Pass(39);
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld);
  Pass(1);
  EXPECT_EQ(world.StateOf(waits), JobState::kCancelled);
  EXPECT_EQ(Why(waits), Reason::kDeadlineMissed);
  EXPECT_EQ(world.StateOf(runs), JobState::kRunning);
  Pass(60);
  EXPECT_EQ(world.StateOf(runs), JobState::kCancelled);
  EXPECT_EQ(Why(runs), Reason::kDeadlineMissed);
}

TEST_F(BatchTest, AnOperatorsHold_IsReleasedByAnOperatorAlone) {
  const JobId id = Submit({.job = {.held = true}});
  EXPECT_EQ(Why(id), Reason::kHeldByUser);
  ASSERT_TRUE(Command(&world, VerbOf(JobVerb::kHold, id, true)).ok());
  EXPECT_EQ(Why(id), Reason::kHeldByAdmin);
  world.Restart();
  world.Run();
  const auto refused = Command(&world, VerbOf(JobVerb::kRelease, id, false));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  ASSERT_TRUE(Command(&world, VerbOf(JobVerb::kRelease, id, true)).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->batch_state, nullptr);
}

TEST_F(BatchTest, AHoldOfARunningScript_CountsWhenItIsRequeued) {
  for (const bool by_operator : {false, true}) {
    const JobId id = Submit({.job = {.name = by_operator ? "admins" : "users"}});
    ASSERT_TRUE(Command(&world, VerbOf(JobVerb::kHold, id, by_operator)).ok());
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_EQ(changes::ShownPriority(*world.Job(id)), 0);
    world.Restart();
    world.Run();
    ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kHeld);
    EXPECT_EQ(Why(id), by_operator ? Reason::kHeldByAdmin : Reason::kHeldByUser);
    ASSERT_TRUE(Command(&world, VerbOf(JobVerb::kRelease, id, by_operator)).ok());
    Pass(120);
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_GT(changes::ShownPriority(*world.Job(id)), 0);
  }
}

TEST_F(BatchTest, AHoldOfARunningScript_IsReleasedOrEndsWithIt) {
  const JobId id = Submit({});
  JobUpdate zero;
  zero.own_priority = std::optional<std::int64_t>(0);
  ASSERT_TRUE(Update(&world, id, zero).ok());
  EXPECT_EQ(changes::ShownPriority(*world.Job(id)), 0);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  EXPECT_GT(changes::ShownPriority(*world.Job(id)), 0);
  EXPECT_FALSE(IsTrue(*world.Job(id), changes::kHeldCondition));
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_FALSE(world.Job(id)->suspended_by_user);
  EXPECT_EQ(FindCondition(*world.Job(id), changes::kHeldCondition), nullptr);
}

TEST_F(BatchTest, AnEndedScript_IsRequeuedUnderItsNumber_AlsoOverARestart) {
  const ObjectChange queue = ClusterQueueObject({.nominal = {{"cpu", 4000}}});
  ASSERT_TRUE(world.Apply({WithAnnotation(queue, "muster.io/requeue-wait", "2m")}).ok());
  for (const RemotePhase phase : {RemotePhase::kSucceeded, RemotePhase::kFailed}) {
    const JobId id = Submit({.job = {.name = phase == RemotePhase::kFailed ? "bad" : "good"}});
    world.members.End(world.KeyOf(id), phase);
    world.Run();
    ASSERT_TRUE(IsTerminal(world.StateOf(id)));
    ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
    const JobPtr waits = world.Job(id);
    EXPECT_EQ(waits->state, JobState::kPending);
    EXPECT_EQ(waits->reason, Reason::kBeginTime);
    EXPECT_EQ(waits->requeues, 1);
    EXPECT_FALSE(waits->end_time.set());
    EXPECT_EQ(FindCondition(*waits, "Finished"), nullptr);
    world.Restart();
    world.Run();
    Pass(120);
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_EQ(world.Job(id)->attempt, 2);
    world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
    const auto attempts = world.store.ReadAttempts({id});
    ASSERT_TRUE(attempts.ok());
    EXPECT_EQ(attempts->size(), 2U);
    EXPECT_EQ(world.UsedCpu(), 0);
  }
}

TEST_F(BatchTest, AnEndedScript_IsNotRequeuedWhereSlurmRefusesIt) {
  const JobId once =
      Submit({.job = {.name = "once"}, .batch = DetailsWith([](auto& b) { b.requeue = false; })});
  const JobId allocation =
      Submit({.job = {.name = "allocation"},
              .batch = DetailsWith([](auto& b) { b.allocation_only = true; })});
  const JobId old = Submit({.job = {.name = "old"}});
  for (const JobId id : {once, allocation, old}) {
    world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
    world.Run();
  }
  for (const JobId id : {once, allocation})
    EXPECT_EQ(world.Do(JobVerb::kRequeue, id).error().code, Code::kFailedPrecondition);
  Pass(limits::kFinishedJobsKeptMs / 1000 + 1);
  EXPECT_EQ(world.Do(JobVerb::kRequeue, old).error().code, Code::kFailedPrecondition);
}

TEST_F(BatchTest, AScriptThatRanAgain_IsKeptAsLongAsOthersFromItsLastEnd) {
  const JobId id = Submit({.job = {.name = "again"}});
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  Pass(limits::kFinishedJobsKeptMs / 1000 - 60);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  Pass(120);
  world.members.End(world.KeyOf(id), RemotePhase::kSucceeded);
  world.Run();
  Pass(limits::kFinishedJobsKeptMs / 1000 - 60);
  EXPECT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
}

TEST_F(BatchTest, ACancelledScript_ThatIsRequeuedWithHold_ComesBackHeld) {
  const JobId id = Submit({.job = {.held = true}});
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  JobCommand requeue = VerbOf(JobVerb::kRequeue, id, false);
  requeue.hold = true;
  ASSERT_TRUE(Command(&world, requeue).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  EXPECT_EQ(Why(id), Reason::kHeldAfterRequeue);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  Pass(120);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(BatchTest, ARequeueWithHold_ComesBackHeldAndMarked) {
  const JobId id = Submit({});
  JobCommand requeue = VerbOf(JobVerb::kRequeue, id, false);
  requeue.hold = requeue.special_exit = true;
  ASSERT_TRUE(Command(&world, requeue).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  EXPECT_EQ(Why(id), Reason::kHeldAfterRequeue);
  EXPECT_TRUE(BatchStateOf(*world.Job(id)).special_exit);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_FALSE(BatchStateOf(*world.Job(id)).special_exit);
}

std::vector<int> SignalsOf(const EngineWorld& world) {
  std::vector<int> out;
  for (const auto& [key, signal] : world.members.signals) out.push_back(signal);
  return out;
}

TEST_F(BatchTest, Suspend_StopsTheProcesses_AndARestartStopsThemAgain) {
  const JobId id = Submit({});
  ASSERT_TRUE(world.Do(JobVerb::kSuspend, id).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(Why(id), Reason::kSuspendedByAdmin);
  EXPECT_EQ(world.UsedCpu(), 1000) << "it keeps its quota";
  EXPECT_THAT(SignalsOf(world), ElementsAre(SIGSTOP));
  world.Restart();
  world.Run();
  EXPECT_THAT(SignalsOf(world), ElementsAre(SIGSTOP, SIGSTOP));
  EXPECT_EQ(Why(id), Reason::kSuspendedByAdmin) << "a report does not say that it runs";
  Pass(7);
  ASSERT_TRUE(world.Do(JobVerb::kResume, id).ok());
  EXPECT_THAT(SignalsOf(world), ElementsAre(SIGSTOP, SIGSTOP, SIGCONT));
  EXPECT_EQ(Why(id), Reason::kRunning);
  EXPECT_EQ(BatchStateOf(*world.Job(id)).suspended_s, 7);
  EXPECT_FALSE(world.Do(JobVerb::kResume, id).ok());
}

TEST_F(BatchTest, ASuspendedJob_GoesOnBeforeItIsStopped) {
  const JobId id = Submit({});
  ASSERT_TRUE(world.Do(JobVerb::kSuspend, id).ok());
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  world.Run();
  EXPECT_THAT(SignalsOf(world), ElementsAre(SIGSTOP, SIGCONT));
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_FALSE(BatchStateOf(*world.Job(id)).suspended_since.set());
}

TEST_F(BatchTest, AnAllocation_WhoseClientIsGone_IsCancelled) {
  world.Apply({ClusterQueueObject({.nominal = {{"cpu", 1000}}})}).ok();
  (void)Submit({.job = {.name = "full"}});
  const JobId id = Submit(
      {.job = {.name = "alloc"}, .batch = DetailsWith([](auto& b) { b.allocation_only = true; })});
  Pass(600);
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "nobody promised to keep it";
  ASSERT_TRUE(world.Do(JobVerb::kKeep, id).ok());
  Pass(limits::kClientLeaseS - 1);
  ASSERT_TRUE(world.Do(JobVerb::kKeep, id).ok());
  Pass(limits::kClientLeaseS - 1);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(1);
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(Why(id), Reason::kClientGone);
}

TEST_F(BatchTest, PartitionLimits_KeepScriptsWaiting_AndAnEditReleasesThem) {
  const auto queue = [](const std::string& limit) {
    return WithAnnotation(LocalQueueObject("queue", "cq"), "muster.io/partition-max-time", limit);
  };
  ASSERT_TRUE(world.Apply({queue("10")}).ok());
  const JobId id = Submit({.job = {.name = "long", .time_limit_s = 3600}});
  EXPECT_EQ(Why(id), Reason::kPartitionTimeLimit);
  world.Restart();
  world.Run();
  EXPECT_EQ(Why(id), Reason::kPartitionTimeLimit);
  ASSERT_TRUE(world.Apply({queue("60")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  const ObjectChange down =
      WithAnnotation(LocalQueueObject("queue", "cq"), "muster.io/partition-state", "down");
  ASSERT_TRUE(world.Apply({down}).ok());
  const JobId later = Submit({.job = {.name = "later"}});
  EXPECT_EQ(Why(later), Reason::kPartitionDown);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(BatchTest, Priority_IsTheScriptsOwnLessItsNiceValue) {
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 1000}}})}).ok());
  const JobId full = Submit({.job = {.name = "full"}});
  const JobId low =
      Submit({.job = {.name = "low"}, .state = StateWith([](auto& s) { s.nice = 10; })});
  const JobId high = Submit({.job = {.name = "high"}});
  JobUpdate raise;
  raise.own_priority = std::optional<std::int64_t>(100);
  ASSERT_TRUE(Update(&world, low, raise).ok());
  ASSERT_TRUE(world.members.End(world.KeyOf(full), RemotePhase::kSucceeded));
  world.Run();
  EXPECT_EQ(world.StateOf(low), JobState::kRunning);
  EXPECT_EQ(world.StateOf(high), JobState::kPending);
  JobUpdate hold;
  hold.own_priority = std::optional<std::int64_t>(0);
  ASSERT_TRUE(Update(&world, high, hold).ok());
  EXPECT_EQ(world.StateOf(high), JobState::kHeld);
}

JobUpdate Spec(const JobRecord& job, std::int64_t limit_s, const std::string& comment = "new") {
  Respecified spec;
  auto batch = std::make_shared<BatchDetails>(*job.batch);
  batch->comment = comment;
  spec.batch = batch;
  spec.pod_sets = job.pod_sets;
  spec.placement = job.placement;
  spec.time_limit_s = limit_s;
  spec.changed_spec = R"({"timeLimit":1,"comment":"new"})";
  JobUpdate update;
  update.spec = std::move(spec);
  return update;
}

TEST_F(BatchTest, AnUpdate_IsStoredWithTheJob) {
  const JobId id = Submit({.job = {.held = true, .time_limit_s = 600}});
  ASSERT_TRUE(Update(&world, id, Spec(*world.Job(id), 60)).ok());
  world.Restart();
  world.Run();
  EXPECT_EQ(world.Job(id)->batch->comment, "new");
  EXPECT_EQ(world.Job(id)->time_limit_s, 60);
  EXPECT_THAT(BatchStateOf(*world.Job(id)).changed_spec, HasSubstr("timeLimit"));
}

TEST_F(BatchTest, OfARunningJob_TheLimitIsLoweredAndNotRaised) {
  const JobId id = Submit({.job = {.time_limit_s = 600}});
  const auto raised = Update(&world, id, Spec(*world.Job(id), 601));
  ASSERT_FALSE(raised.ok());
  EXPECT_EQ(raised.error().fields[0].field, "timeLimit");
  ASSERT_TRUE(Update(&world, id, Spec(*world.Job(id), 60)).ok());
  Pass(60);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  Pass(limits::kChangedLimitGraceS);
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(Why(id), Reason::kDeadlineExceeded);
}

TEST_F(BatchTest, WhatShapesAJob_IsNotChangedOnceItHoldsQuota) {
  const JobId id = Submit({});
  JobUpdate queue;
  queue.queue = "other";
  queue.cluster_queue = "cq";
  const auto refused = Update(&world, id, queue);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().fields[0].field, "queue");
  JobUpdate stale;
  stale.nice = 1;
  UpdateJobCommand command;
  std::optional<Result<JobPtr>> answer;
  command.job = id;
  command.update = stale;
  command.update.base_version = 1;
  command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
  world.engine->Post(std::move(command));
  world.Settle();
  EXPECT_EQ(answer->error().code, Code::kAborted);
}

TEST_F(BatchTest, APreemptedJobThatMayNotBeRequeued_EndsAsPreempted) {
  ASSERT_TRUE(
      world.Apply({ClusterQueueObject({.nominal = {{"cpu", 1000}}, .within = "LowerPriority"})})
          .ok());
  const JobId low =
      Submit({.job = {.name = "low"}, .batch = DetailsWith([](auto& b) { b.requeue = false; })});
  (void)Submit({.job = {.name = "high", .priority = 10}});
  EXPECT_EQ(world.StateOf(low), JobState::kCancelled);
  EXPECT_EQ(Why(low), Reason::kPreempted);
}

TEST_F(BatchTest, TheLimitOfAnArray_IsOneForAllItsRecords) {
  const JobId array = world.Submit({.name = "array", .array = "0-9%1"})->id;
  world.Run();
  JobCommand hold{{"alice", "test"}, JobVerb::kHold, array, {}};
  hold.tasks = {{5, 9, 1}};
  const auto part = Command(&world, std::move(hold));
  ASSERT_TRUE(part.ok());
  ASSERT_NE((*part)->id, array);
  JobUpdate update;
  update.task_throttle = 3;
  ASSERT_TRUE(Update(&world, (*part)->id, update).ok());
  world.Run();
  EXPECT_EQ(BatchStateOf(*world.Job(array)).task_throttle, 3);
  EXPECT_EQ(BatchStateOf(*world.Job((*part)->id)).task_throttle, 3);
  std::size_t running = 0;
  world.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    running += job->state == JobState::kRunning ? 1 : 0;
    return true;
  });
  EXPECT_EQ(running, 3U);
}

TEST_F(BatchTest, AnUpdateOfAWaitingTask_ChangesThatTaskAlone) {
  const JobId array = world.Submit({.name = "array", .held = true, .array = "0-9"})->id;
  const auto update_task = [&](JobUpdate update, std::int32_t index) {
    std::optional<Result<JobPtr>> answer;
    UpdateJobCommand command;
    command.actor = {"alice", "test"};
    command.job = array;
    update.base_version = world.Job(array)->resource_version;
    command.update = std::move(update);
    command.tasks = {{index, index, 1}};
    command.done = [&answer](Result<JobPtr> result) { answer = std::move(result); };
    world.engine->Post(std::move(command));
    world.Settle();
    return *answer;
  };
  JobUpdate nice;
  nice.nice = 7;
  const auto changed = update_task(nice, 3);
  ASSERT_TRUE(changed.ok()) << changed.error().detail;
  EXPECT_NE((*changed)->id, array);
  EXPECT_EQ(IndexText(BatchStateOf(**changed).waiting_tasks), "3");
  EXPECT_EQ(BatchStateOf(**changed).nice, 7);
  EXPECT_EQ(BatchStateOf(*world.Job(array)).nice, 0);
  EXPECT_EQ(update_task(nice, 3).error().code, Code::kAborted) << "it is in this record no more";
  JobUpdate throttle;
  throttle.task_throttle = 2;
  const auto whole = update_task(throttle, 4);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ((*whole)->id, array) << "%N is the array's";
}

}  // namespace
}  // namespace muster::test
