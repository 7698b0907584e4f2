// The effects of time on a job that holds quota: pods that are not ready, execution limits; and
// that no other job starts while pods are not ready, if the settings say so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr std::int64_t kSecondMs = 1000;

AdmissionSettings Patient(std::int64_t timeout_s) {
  AdmissionSettings settings;
  settings.pods_ready.timeout_s = timeout_s;
  return settings;
}

// A job of four pods that all run.
JobId RunningGang(EngineWorld* world) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  JobSpec spec;
  spec.pods = {Pods{4, {{"cpu", 1000}}}};
  const JobId id = world->Submit(spec)->id;
  world->Run();
  EXPECT_TRUE(IsTrue(*world->Job(id), "PodsReady"));
  return id;
}

void Report(EngineWorld* world, JobId id, std::int32_t ready, std::int32_t failed) {
  Observation seen;
  seen.key = world->KeyOf(id);
  seen.remote_uid = world->members.objects.at(seen.key).uid;
  seen.phase = RemotePhase::kRunning;
  seen.ready_pods = seen.active_pods = ready;
  seen.failed_pods = failed;
  world->engine->Post(ObservedCommand{seen});
  world->Settle();
}

const Condition& ConditionOf(const EngineWorld& world, JobId id, const char* type) {
  return *FindCondition(*world.Job(id), type);
}

TEST(PodsReady, AFailedPodIsWaitedForUntilTheRecoveryTimeout) {
  AdmissionSettings settings = Patient(1800);
  settings.pods_ready.recovery_timeout_s = 60;
  EngineWorld world(1, OptionsWith(settings));
  const JobId id = RunningGang(&world);
  Report(&world, id, 3, 1);
  EXPECT_EQ(ConditionOf(world, id, "PodsReady").reason, "WaitForRecovery");
  EXPECT_EQ(ConditionOf(world, id, "PodsReady").message,
            "At least one pod has failed, waiting for recovery");
  world.clock.Advance(59 * kSecondMs);
  world.Settle();
  ASSERT_FALSE(IsTrue(*world.Job(id), "Evicted"));
  world.clock.Advance(kSecondMs);
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(id), "Evicted"));
  EXPECT_EQ(ConditionOf(world, id, "Evicted").message, "Exceeded the PodsReady timeout 1m0s");
  EXPECT_EQ(StateOf(*world.Job(id)).evictions.at(0).cause, "WaitForRecovery");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
}

TEST(PodsReady, ARecoveryInTimeEndsTheWait) {
  AdmissionSettings settings = Patient(1800);
  settings.pods_ready.recovery_timeout_s = 60;
  EngineWorld world(1, OptionsWith(settings));
  const JobId id = RunningGang(&world);
  Report(&world, id, 3, 1);
  world.Restart();
  world.members.CarryAll();
  world.clock.Advance(30 * kSecondMs);
  Report(&world, id, 4, 1);
  EXPECT_EQ(ConditionOf(world, id, "PodsReady").reason, "Recovered");
  world.clock.Advance(3600 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(PodsReady, ARecoveryTimeoutOfZeroWaitsForEver) {
  AdmissionSettings settings = Patient(60);
  settings.pods_ready.recovery_timeout_s = 0;
  EngineWorld world(1, OptionsWith(settings));
  const JobId id = RunningGang(&world);
  Report(&world, id, 3, 1);
  world.clock.Advance(86'400 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(PodsReady, TurnedOffNobodyWaits) {
  AdmissionSettings settings = Patient(60);
  settings.pods_ready.enabled = false;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.clock.Advance(86'400 * kSecondMs);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
}

TEST(PodsReady, TheBackOffDoublesUpToItsMostAndTheTryBeyondTheLimitIsTheLast) {
  AdmissionSettings settings = Patient(60);
  settings.pods_ready.backoff_base_s = 10;
  settings.pods_ready.backoff_max_s = 30;
  settings.pods_ready.backoff_limit = 3;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  int tries = 0;
  for (const std::int64_t backoff_s : {10, 20, 30}) {
    ASSERT_EQ(world.StateOf(id), JobState::kAdmitted) << "its member never starts it";
    world.clock.Advance(60 * kSecondMs);
    world.Settle();
    world.members.CarryAll();
    world.Settle();
    ASSERT_EQ(world.StateOf(id), JobState::kPending) << backoff_s;
    EXPECT_EQ(StateOf(*world.Job(id)).requeue_count, ++tries);
    world.clock.Advance(backoff_s * kSecondMs - 500);
    world.Settle();
    ASSERT_EQ(world.StateOf(id), JobState::kPending) << backoff_s;
    world.clock.Advance(kSecondMs);
    world.Settle();
    EXPECT_EQ(ConditionOf(world, id, "Requeued").reason, "BackoffFinished");
  }
  world.clock.Advance(60 * kSecondMs);
  world.Run();
  EXPECT_FALSE(StateOf(*world.Job(id)).active);
  EXPECT_EQ(
      ConditionOf(world, id, "Evicted").message,
      "The workload is deactivated due to exceeding the maximum number of re-queuing retries");
  world.clock.Advance(86'400 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "nobody but a user wakes it";
}

TEST(PodsReady, WhereItBlocksAdmissionOneJobStartsAfterTheOther) {
  AdmissionSettings settings = Patient(1800);
  settings.pods_ready.block_admission = true;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId first = world.Submit({.name = "first"})->id;
  const JobId second = world.Submit({.name = "second"})->id;
  const JobId third = world.Submit({.name = "third"})->id;
  ASSERT_EQ(world.StateOf(first), JobState::kAdmitted);
  EXPECT_EQ(world.StateOf(second), JobState::kPending);
  EXPECT_EQ(world.Job(second)->message,
            "waiting for all admitted workloads to be in PodsReady condition");
  EXPECT_EQ(world.Job(second)->reason, Reason::kWaitingForPodsReady);
  world.Restart();
  EXPECT_EQ(world.StateOf(second), JobState::kPending) << "a restart does not let it in";
  world.members.Carry();
  world.Settle();
  while (world.StateOf(first) != JobState::kRunning) {
    ASSERT_FALSE(world.members.orders.empty());
    world.members.Carry();
    world.Settle();
  }
  EXPECT_EQ(world.StateOf(second), JobState::kAdmitted);
  EXPECT_EQ(world.StateOf(third), JobState::kPending);
  world.Run();
  EXPECT_EQ(world.StateOf(third), JobState::kRunning);
}

TEST(PodsReady, AJobThatIsGivenUpNoLongerBlocksTheOthers) {
  AdmissionSettings settings = Patient(60);
  settings.pods_ready.block_admission = true;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId first = world.Submit({.name = "first"})->id;
  const JobId second = world.Submit({.name = "second"})->id;
  world.members.ForgetOrders();
  world.clock.Advance(60 * kSecondMs);
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(first), "Evicted"));
  EXPECT_EQ(world.StateOf(second), JobState::kPending) << "its pods may still come";
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
}

TEST(ExecutionTime, WhatAJobRanBeforeItsEvictionCounts) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  JobSpec spec;
  spec.max_execution_s = 60;
  const JobId id = world.Submit(spec)->id;
  world.Run();
  world.clock.Advance(40 * kSecondMs);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_EQ(StateOf(*world.Job(id)).past_execution_s, 40);
  world.Restart();
  world.Run();
  world.clock.Advance(19 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  world.clock.Advance(kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(ConditionOf(world, id, "Evicted").reason,
            "DeactivatedDueToMaximumExecutionTimeExceeded");
  EXPECT_FALSE(StateOf(*world.Job(id)).active);
  EXPECT_EQ(StateOf(*world.Job(id)).past_execution_s, 0) << "it begins anew if somebody wakes it";
  ChangeJobCommand wake;
  wake.job = id;
  wake.active = true;
  ASSERT_TRUE(world.Change(std::move(wake)).ok());
  world.Run();
  world.clock.Advance(59 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

// The member's controller ends an attempt at the job's own limit. If that is the maximum execution
// time too, either the member or Muster may be first.
TEST(ExecutionTime, AnOwnLimitThatIsAsLong_DeactivatesWhoeverIsFirst) {
  for (const bool member_first : {true, false}) {
    EngineWorld world;
    world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
    JobSpec spec;
    spec.max_execution_s = spec.time_limit_s = 60;
    const JobId id = world.Submit(spec)->id;
    world.Run();
    world.clock.Advance(59'500);
    Observation late;
    late.key = world.KeyOf(id);
    late.remote_uid = world.members.objects.at(late.key).uid;
    late.incarnation = "incarnation";
    late.phase = RemotePhase::kFailed;
    late.reason = Reason::kDeadlineExceeded;
    if (!member_first) {
      world.clock.Advance(kSecondMs);
      world.Settle();
    }
    world.engine->Post(ObservedCommand{late});
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kPending);
    EXPECT_EQ(ConditionOf(world, id, "Evicted").reason,
              "DeactivatedDueToMaximumExecutionTimeExceeded");
    EXPECT_FALSE(StateOf(*world.Job(id)).active);
    EXPECT_EQ(world.UsedCpu(), 0);
  }
}

TEST(ExecutionTime, AnOwnLimitThatIsShorter_FailsTheJob) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  JobSpec spec;
  spec.max_execution_s = 60;
  spec.time_limit_s = 30;
  const JobId id = world.Submit(spec)->id;
  world.Run();
  Observation late;
  late.key = world.KeyOf(id);
  late.remote_uid = world.members.objects.at(late.key).uid;
  late.incarnation = "incarnation";
  late.phase = RemotePhase::kFailed;
  late.reason = Reason::kDeadlineExceeded;
  world.engine->Post(ObservedCommand{late});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kFailed);
  EXPECT_EQ(world.Job(id)->reason, Reason::kDeadlineExceeded);
}

TEST(ExecutionTime, TimeInWhichItWaitsForChecksDoesNotCount) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(
      world.Apply({CheckObject("budget"), ClusterQueueObject({.checks = {"budget"}})}).ok());
  ASSERT_TRUE(world.ActivateCheck("budget").ok());
  JobSpec spec;
  spec.max_execution_s = 60;
  const JobId id = world.Submit(spec)->id;
  ASSERT_EQ(world.StateOf(id), JobState::kReserved);
  world.clock.Advance(120 * kSecondMs);
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kReserved);
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kReady).ok());
  world.clock.Advance(59 * kSecondMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test
