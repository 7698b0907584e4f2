// Waits after a requeue (as in Slurm) and back-off after several evictions: what is shown, and what
// ends the wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/engine/requeued_job.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecondMs = 1000;

void Pass(EngineWorld* world, std::int64_t ms) {
  world->clock.Advance(ms);
  world->Run();
}

TEST(Requeue, AScriptThatRequeuesItselfStartsEveryTwoMinutesAndNotInALoop) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = world.Submit({})->id;
  for (int second = 0; second < 600; ++second) {
    world.Run();
    if (world.StateOf(id) == JobState::kRunning) (void)world.Do(JobVerb::kRequeue, id);
    world.Run();
    world.clock.Advance(kSecondMs);
  }
  EXPECT_EQ(world.Job(id)->attempt, 5) << "in 10 minutes";
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST(Requeue, ItSaysUntilWhenItWaitsAndLeavesItsQuotaToOthers) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world, {.name = "again", .pods = {Pods{1, {{"cpu", 4000}}}}});
  const JobPtr waits = world.Job(id);
  ASSERT_EQ(waits->state, JobState::kPending);
  EXPECT_EQ(waits->reason, Reason::kBackoff);
  const WallTime until{world.clock.WallNow().us + limits::kRequeueWaitMs * 1000};
  EXPECT_THAT(waits->message, HasSubstr("Requeued by alice"));
  EXPECT_THAT(waits->message, HasSubstr("not tried again before " + FormatRfc3339(until)));
  EXPECT_EQ(core::HeldBackUntil(*waits), until);
  EXPECT_FALSE(IsTrue(*waits, "Requeued"));
  EXPECT_EQ(FindCondition(*waits, "Requeued")->reason, "Requeued");
  EXPECT_EQ(waits->requeues, 1);
  EXPECT_EQ(world.UsedCpu(), 0);
  const JobId other = world.Submit({.name = "other", .pods = {Pods{1, {{"cpu", 4000}}}}})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(other), JobState::kRunning);
  world.members.End(world.KeyOf(other), RemotePhase::kSucceeded);
  Pass(&world, limits::kRequeueWaitMs - 1);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(&world, 1);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2) << "SLURM_RESTART_COUNT is one less";
  EXPECT_EQ(FindCondition(*world.Job(id), "Requeued")->reason, "BackoffFinished");
  EXPECT_EQ(core::HeldBackUntil(*world.Job(id)), std::nullopt);
}

TEST(Requeue, ARestartOfTheDaemonKeepsTheWait) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  Pass(&world, limits::kRequeueWaitMs / 2);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(&world, limits::kRequeueWaitMs / 2 - 1);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(&world, 1);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Requeue, HoldReleaseAndRequeueInTheWaitDoNotShortenIt) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  const auto again = world.Do(JobVerb::kRequeue, id);
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().detail, HasSubstr("is not running"));
  EXPECT_TRUE(world.Do(JobVerb::kRelease, id).ok()) << "nothing to release";
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->reason, Reason::kBackoff);
  ASSERT_TRUE(world.Do(JobVerb::kHold, id).ok());
  Pass(&world, limits::kRequeueWaitMs);
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  ASSERT_TRUE(world.Do(JobVerb::kRelease, id).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "the wait was over";
}

TEST(Requeue, CancellingAWaitingJobEndsIt) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  Pass(&world, limits::kRequeueWaitMs);
  EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
}

TEST(Requeue, TheQueueNamesTheWait) {
  for (const auto& [wait, ms] : std::vector<std::pair<std::string, std::int64_t>>{
           {"0s", 0}, {"5s", 5000}, {"1h", 3'600'000}}) {
    EngineWorld world;
    DeclareWaiting(&world, wait);
    const JobId id = RequeuedJob(&world);
    if (ms > 0) {
      Pass(&world, ms - 1);
      EXPECT_EQ(world.StateOf(id), JobState::kPending) << wait;
      Pass(&world, 1);
    }
    EXPECT_EQ(world.StateOf(id), JobState::kRunning) << wait;
    EXPECT_EQ(world.Job(id)->attempt, 2) << wait;
  }
  EngineWorld world;
  DeclareWaiting(&world);
  for (const char* wrong : {"soon", "-1s", "25h", ""}) {
    const auto applied = world.Apply({WithAnnotation(
        ClusterQueueObject({.nominal = {{"cpu", 4000}}}), "muster.io/requeue-wait", wrong)});
    ASSERT_FALSE(applied.ok()) << wrong;
    EXPECT_THAT(applied.error().fields.at(0).field, HasSubstr("muster.io/requeue-wait"));
  }
}

TEST(Requeue, AnOldWaitDoesNotWakeAJobOfAStoppedQueue) {
  EngineWorld world;
  DeclareWaiting(&world);
  const JobId id = RequeuedJob(&world);
  Pass(&world, limits::kRequeueWaitMs);
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  ASSERT_TRUE(
      world.Apply({ClusterQueueObject({.nominal = {{"cpu", 4000}}, .stop_policy = "HoldAndDrain"})})
          .ok());
  Pass(&world, kSecondMs);
  ASSERT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(FindCondition(*world.Job(id), "Requeued")->reason, "ClusterQueueStopped");
  EXPECT_EQ(core::HeldBackUntil(*world.Job(id)), std::nullopt);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.nominal = {{"cpu", 4000}}})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

// Jobs that end at once preempt the victim again and again.
TEST(EvictionsInARow, BackOffFromTheSecondOnAndForgetAfterAMinute) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  ASSERT_TRUE(
      world.Apply({ClusterQueueObject({.nominal = {{"cpu", 4000}}, .within = "LowerPriority"})})
          .ok());
  const JobId victim = world.Submit({.name = "victim", .pods = {Pods{1, {{"cpu", 4000}}}}})->id;
  world.Run();
  int round = 0;
  const auto preempt = [&] {
    const JobId urgent = world
                             .Submit({.name = "urgent" + std::to_string(++round),
                                      .pods = {Pods{1, {{"cpu", 4000}}}},
                                      .priority = 9})
                             ->id;
    world.Run();
    EXPECT_EQ(world.StateOf(urgent), JobState::kRunning) << "it waits for nothing";
    world.members.End(world.KeyOf(urgent), RemotePhase::kSucceeded);
    world.Run();
  };
  preempt();
  EXPECT_EQ(world.StateOf(victim), JobState::kRunning) << "the first costs nothing";
  for (const std::int64_t wait_s : {1, 2, 4, 8, 16, 32, 60, 60}) {
    preempt();
    ASSERT_EQ(world.StateOf(victim), JobState::kPending) << wait_s;
    EXPECT_EQ(world.Job(victim)->reason, Reason::kBackoff);
    EXPECT_EQ(FindCondition(*world.Job(victim), "Requeued")->reason, "Preempted");
    EXPECT_EQ(StateOf(*world.Job(victim)).requeue_count, 0) << "no try of Kueue's back-off";
    Pass(&world, wait_s * kSecondMs - 1);
    ASSERT_EQ(world.StateOf(victim), JobState::kPending) << wait_s;
    Pass(&world, 1);
    ASSERT_EQ(world.StateOf(victim), JobState::kRunning) << wait_s;
  }
  Pass(&world, limits::kEvictionRowS * kSecondMs);
  preempt();
  EXPECT_EQ(world.StateOf(victim), JobState::kRunning) << "it ran for a minute: a first one again";
}

TEST(EvictionPace, CountsEachJobByItselfAndForgets) {
  core::EvictionPace pace;
  const WallTime now{1'000'000'000};
  EXPECT_EQ(pace.Note(JobId{1}, now), now);
  EXPECT_EQ(pace.Note(JobId{2}, now), now);
  EXPECT_EQ(pace.Note(JobId{1}, now).us, now.us + kMicrosPerSecond);
  pace.Forget(JobId{1});
  EXPECT_EQ(pace.Note(JobId{1}, now), now);
  EXPECT_EQ(pace.size(), 2U);
}

}  // namespace
}  // namespace muster::test
