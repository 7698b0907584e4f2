// Evictions: their two steps, their messages, and a crash between the steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMinuteMs = 60'000;

// Two queues of one cohort of 8 CPUs; `lender` may reclaim what `borrower` borrows.
void DeclareCohort(EngineWorld* world) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  const auto applied =
      world->Apply({ClusterQueueObject({.name = "borrower", .cohort = "all"}),
                    ClusterQueueObject({.name = "lender", .cohort = "all", .reclaim = "Any"}),
                    LocalQueueObject("b", "borrower"), LocalQueueObject("l", "lender")});
  ASSERT_TRUE(applied.ok());
  world->Run();
}

JobSpec OfQueue(const std::string& name, const std::string& queue, std::int64_t cpu) {
  JobSpec spec;
  spec.name = name;
  spec.queue = queue;
  spec.cluster_queue = queue == "b" ? "borrower" : "lender";
  spec.pods = {Pods{1, {{"cpu", cpu}}}};
  return spec;
}

TEST(Eviction, ABorrowerKeepsItsQuotaUntilItsPodsAreGoneAndThenWaitsAgain) {
  EngineWorld world;
  DeclareCohort(&world);
  const JobId borrower = world.Submit(OfQueue("borrower", "b", 8000))->id;
  world.Run();
  ASSERT_EQ(world.StateOf(borrower), JobState::kRunning);
  const JobId owner = world.Submit(OfQueue("owner", "l", 4000))->id;
  world.Settle();
  const JobPtr marked = world.Job(borrower);
  EXPECT_EQ(marked->state, JobState::kRunning);
  EXPECT_EQ(marked->reason, Reason::kPreempted);
  ASSERT_NE(FindCondition(*marked, "Preempted"), nullptr);
  EXPECT_TRUE(IsTrue(*marked, "Evicted"));
  EXPECT_EQ(FindCondition(*marked, "Preempted")->reason, "InCohortReclamation");
  EXPECT_THAT(marked->message, HasSubstr("Preempted to accommodate a workload (UID: " +
                                         world.Job(owner)->uid.ToString()));
  EXPECT_THAT(marked->message, HasSubstr("preemptor path: /all/lender"));
  EXPECT_EQ(world.UsedCpu("borrower"), 8000) << "held until its pods are gone";
  EXPECT_EQ(world.StateOf(owner), JobState::kPending);
  EXPECT_EQ(world.Job(owner)->reason, Reason::kWaitingForPreemptedWorkloads);
  EXPECT_THAT(world.metrics->Expose(),
              HasSubstr("kueue_preempted_workloads_total{preempting_cluster_queue=\"lender\""));
  world.Run();
  EXPECT_EQ(world.StateOf(owner), JobState::kRunning);
  EXPECT_EQ(world.StateOf(borrower), JobState::kPending);
  EXPECT_TRUE(IsTrue(*world.Job(borrower), "Requeued"));
  EXPECT_FALSE(IsTrue(*world.Job(borrower), "QuotaReserved"));
  EXPECT_EQ(world.UsedCpu("borrower"), 0);
  world.members.End(world.KeyOf(owner), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(borrower), JobState::kRunning) << "it returns once there is room";
  EXPECT_EQ(world.Job(borrower)->attempt, 2);
  EXPECT_FALSE(IsTrue(*world.Job(borrower), "Evicted"));
  EXPECT_THAT(FindCondition(*world.Job(borrower), "Preempted")->message,
              HasSubstr("Previously: Preempted to accommodate"));
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST(Eviction, RoomOnAMemberIsMadeForTheMoreImportantJob_AndTheVictimReturnsWhenItEnds) {
  EngineWorld world;
  world.Declare({{"cpu", 64000}}, {{"cpu", 8000}});
  QueueSpec queue;
  queue.nominal = {{"cpu", 64000}};
  queue.within = "LowerPriority";
  ASSERT_TRUE(world.Apply({ClusterQueueObject(queue)}).ok());
  JobSpec spec;
  spec.name = "idle";
  spec.pods = {Pods{1, {{"cpu", 8000}}}};
  const JobId idle = world.Submit(spec)->id;
  world.Run();
  ASSERT_EQ(world.StateOf(idle), JobState::kRunning);
  spec.name = "urgent";
  spec.priority = 10;
  const JobId urgent = world.Submit(spec)->id;
  world.Settle();
  EXPECT_EQ(world.Job(idle)->reason, Reason::kPreempted);
  EXPECT_EQ(world.Job(urgent)->reason, Reason::kWaitingForPreemptedWorkloads);
  EXPECT_EQ(world.Job(urgent)->message,
            "member cluster east: needs 8 cpu, 0 of 8 free, and room is being made");
  world.Run();
  EXPECT_EQ(world.StateOf(urgent), JobState::kRunning);
  EXPECT_EQ(world.StateOf(idle), JobState::kPending);
  EXPECT_EQ(world.Job(idle)->reason, Reason::kWaitingForCapacity);
  world.members.End(world.KeyOf(urgent), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(idle), JobState::kRunning);
  EXPECT_EQ(world.members.most_active_of_one_job, 1U);
}

TEST(Eviction, AVictimThatWasOnlyAdmittedIsEvictedToo) {
  EngineWorld world;
  DeclareCohort(&world);
  const JobId borrower = world.Submit(OfQueue("borrower", "b", 8000))->id;
  ASSERT_EQ(world.StateOf(borrower), JobState::kAdmitted);
  const JobId owner = world.Submit(OfQueue("owner", "l", 4000))->id;
  world.Run();
  EXPECT_EQ(world.StateOf(owner), JobState::kRunning);
  EXPECT_EQ(world.StateOf(borrower), JobState::kPending);
}

TEST(Eviction, ACrashBetweenTheStepsGoesOnAfterwards) {
  EngineWorld world;
  DeclareCohort(&world);
  const JobId borrower = world.Submit(OfQueue("borrower", "b", 8000))->id;
  world.Run();
  const JobId owner = world.Submit(OfQueue("owner", "l", 4000))->id;
  ASSERT_TRUE(IsTrue(*world.Job(borrower), "Evicted"));
  world.Restart();
  EXPECT_TRUE(IsTrue(*world.Job(borrower), "Evicted"));
  EXPECT_EQ(world.UsedCpu("borrower"), 8000);
  world.Run();
  EXPECT_EQ(world.StateOf(owner), JobState::kRunning);
  EXPECT_EQ(world.StateOf(borrower), JobState::kPending);
  EXPECT_EQ(StateOf(*world.Job(borrower)).evictions.size(), 1U) << "evicted once, not twice";
}

TEST(Eviction, AHigherPriorityEvictsWithinItsQueueAndALowerDoesNot) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.within = "LowerPriority"})}).ok());
  JobSpec spec;
  spec.pods = {Pods{1, {{"cpu", 4000}}}};
  spec.name = "low";
  const JobId low = world.Submit(spec)->id;
  world.Run();
  spec.name = "equal";
  const JobId equal = world.Submit(spec)->id;
  world.Run();
  EXPECT_EQ(world.StateOf(low), JobState::kRunning);
  spec.name = "high";
  spec.priority = 10;
  const JobId high = world.Submit(spec)->id;
  world.Run();
  EXPECT_EQ(world.StateOf(high), JobState::kRunning);
  EXPECT_EQ(world.StateOf(low), JobState::kPending);
  EXPECT_EQ(FindCondition(*world.Job(low), "Preempted")->reason, "InClusterQueue");
  EXPECT_EQ(world.StateOf(equal), JobState::kPending);
}

TEST(Eviction, AJobThatIsBeingCancelledIsWaitedForAndNotEvicted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.within = "LowerPriority"})}).ok());
  JobSpec spec;
  spec.pods = {Pods{1, {{"cpu", 4000}}}};
  spec.name = "low";
  const JobId low = world.Submit(spec)->id;
  world.Run();
  ASSERT_TRUE(world.Do(JobVerb::kCancel, low).ok());
  spec.name = "high";
  spec.priority = 10;
  const JobId high = world.Submit(spec)->id;
  EXPECT_EQ(world.StateOf(high), JobState::kPending);
  EXPECT_FALSE(IsTrue(*world.Job(low), "Evicted"));
  world.Run();
  EXPECT_EQ(world.StateOf(low), JobState::kCancelled);
  EXPECT_EQ(world.StateOf(high), JobState::kRunning);
}

TEST(Eviction, APreviewNamesTheVictims) {
  EngineWorld world;
  DeclareCohort(&world);
  ASSERT_TRUE(world.Apply({ClusterQueueObject({.name = "lender", .cohort = "all"})}).ok());
  const JobId borrower = world.Submit(OfQueue("borrower", "b", 8000))->id;
  world.Run();
  world.Submit(OfQueue("owner", "l", 4000));
  const auto effect =
      world.Preview({ClusterQueueObject({.name = "lender", .cohort = "all", .reclaim = "Any"})});
  ASSERT_TRUE(effect.ok());
  ASSERT_EQ(effect->would_preempt.size(), 1U);
  EXPECT_EQ(effect->would_preempt[0]->id, borrower);
  EXPECT_EQ(world.StateOf(borrower), JobState::kRunning);
}

TEST(Eviction, PodsThatAreNotReadyInTimeCostThePlaceForABackoff) {
  AdmissionSettings settings;
  settings.pods_ready.timeout_s = 300;
  settings.pods_ready.backoff_limit = 1;
  EngineOptions options;
  options.settings = std::make_shared<const AdmissionSettings>(settings);
  EngineWorld world(1, options);
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  ASSERT_EQ(world.StateOf(id), JobState::kAdmitted) << "its member never starts it";
  world.clock.Advance(5 * kMinuteMs - 1000);
  world.Settle();
  EXPECT_FALSE(IsTrue(*world.Job(id), "Evicted"));
  world.clock.Advance(1000);
  world.Settle();
  ASSERT_TRUE(IsTrue(*world.Job(id), "Evicted"));
  EXPECT_EQ(world.Job(id)->message, "Exceeded the PodsReady timeout 5m0s");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "it waits for the end of its back-off";
  EXPECT_EQ(StateOf(*world.Job(id)).requeue_count, 1);
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "a restart does not shorten the back-off";
  world.clock.Advance(kMinuteMs + 100);
  world.Settle();
  EXPECT_EQ(world.StateOf(id), JobState::kAdmitted);
  world.clock.Advance(5 * kMinuteMs);
  world.Run();
  EXPECT_EQ(world.Job(id)->reason, Reason::kDeactivated) << "one try too many";
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason,
            "DeactivatedDueToRequeuingLimitExceeded");
  EXPECT_FALSE(StateOf(*world.Job(id)).active);
  ChangeJobCommand wake;
  wake.job = id;
  wake.active = true;
  ASSERT_TRUE(world.Change(std::move(wake)).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Eviction, AJobThatRunsTooLongIsDeactivated) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  JobSpec spec;
  spec.max_execution_s = 60;
  const JobId id = world.Submit(spec)->id;
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kRunning);
  world.clock.Advance(kMinuteMs);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->message,
            "The workload is deactivated due to exceeding the maximum execution time");
  EXPECT_EQ(world.UsedCpu(), 0);
}

}  // namespace
}  // namespace muster::test
