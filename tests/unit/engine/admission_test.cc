// Two-phase admission, priorities, stop policies and activity: changes of a job's admission by
// users and controllers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/model/admission_lifecycle.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

using testing::HasSubstr;

void DeclareChecked(EngineWorld* world) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(
      world->Apply({CheckObject("budget"), ClusterQueueObject({.checks = {"budget"}})}).ok());
  ASSERT_TRUE(world->ActivateCheck("budget").ok());
}

TEST(AdmissionChecks, AReservedJobHoldsQuotaAndIsDispatchedWhenItsChecksAreReady) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId id = world.Submit({})->id;
  world.Run();
  const JobPtr reserved = world.Job(id);
  EXPECT_EQ(reserved->state, JobState::kReserved);
  EXPECT_EQ(JobStateName(reserved->state), "Pending");
  EXPECT_TRUE(IsTrue(*reserved, "QuotaReserved"));
  EXPECT_FALSE(IsTrue(*reserved, "Admitted"));
  EXPECT_EQ(world.UsedCpu(), 1000);
  EXPECT_TRUE(world.members.objects.empty());
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kReserved) << "a restart changes nothing of it";
  EXPECT_TRUE(world.members.objects.empty());
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kReady).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 1);
  const auto unknown = world.SetCheck(id, "other", CheckState::kReady);
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().detail, HasSubstr("does not wait for admission check other"));
}

TEST(AdmissionChecks, RetryGivesTheQuotaBackUntilTheDelayIsOver) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kRetry, 30).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->message,
            "Evicted due to AdmissionCheck in Retry state: \"budget\" (as told)");
  EXPECT_EQ(world.UsedCpu(), 0);
  world.clock.Advance(29'000);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  world.clock.Advance(1'000);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kReserved);
  EXPECT_EQ(StateOf(*world.Job(id)).checks[0].retry_count, 1);
  EXPECT_EQ(StateOf(*world.Job(id)).checks[0].state, CheckState::kPending);
}

TEST(AdmissionChecks, RejectionDeactivates) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.SetCheck(id, "budget", CheckState::kRejected).ok());
  world.Run();
  EXPECT_EQ(world.Job(id)->reason, Reason::kDeactivated);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason, "DeactivatedDueToAdmissionCheck");
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(AdmissionChecks, AReservedJobCanBeCancelledAndRequeued) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId first = world.Submit({.name = "first"})->id;
  const JobId second = world.Submit({.name = "second"})->id;
  ASSERT_TRUE(world.Do(JobVerb::kCancel, first).ok());
  EXPECT_EQ(world.StateOf(first), JobState::kCancelled);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, second).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(second), JobState::kReserved) << "it comes back at once";
  EXPECT_EQ(world.UsedCpu(), 1000);
}

TEST(AdmissionChecks, ACheckThatIsRemovedIsNotWaitedFor) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId id = world.Submit({})->id;
  ASSERT_TRUE(world.Apply({ClusterQueueObject({})}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(AdmissionChecks, TheControllersStatusOutlivesAnEditOfTheObject) {
  EngineWorld world;
  DeclareChecked(&world);
  ObjectChange edit = CheckObject("budget");
  edit.manifest.replace(edit.manifest.find("\"name\":\"budget\""), 15,
                        "\"name\":\"budget\",\"labels\":{\"a\":\"b\"}");
  ASSERT_TRUE(world.Apply({edit}).ok());
  EXPECT_TRUE(world.engine->View()->config->admission_checks.at("budget").active);
}

TEST(StopPolicies, HoldTakesQuotaFromWhatWasNotDispatchedYet) {
  EngineWorld world;
  DeclareChecked(&world);
  const JobId id = world.Submit({})->id;
  ASSERT_EQ(world.StateOf(id), JobState::kReserved);
  ASSERT_TRUE(
      world.Apply({ClusterQueueObject({.stop_policy = "Hold", .checks = {"budget"}})}).ok());
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.UsedCpu(), 0);
}

TEST(StopPolicies, ADrainedQueueWakesItsJobsWhenItIsRestarted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  ASSERT_TRUE(world.Apply({LocalQueueObject("queue", "cq", "HoldAndDrain")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason, "LocalQueueStopped");
  EXPECT_FALSE(IsTrue(*world.Job(id), "Requeued"));
  ASSERT_TRUE(world.Apply({LocalQueueObject("queue", "cq")}).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(Priorities, AnEditOfAClassReachesItsJobsAndSurvivesARestart) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(
      world.Apply({PriorityClassObject("team", 5), ClusterQueueObject({.within = "LowerPriority"})})
          .ok());
  JobSpec spec;
  spec.pods = {Pods{1, {{"cpu", 4000}}}};
  spec.name = "runs";
  const JobId runs = world.Submit(spec)->id;
  world.Run();
  spec.name = "waits";
  spec.priority_class = "team";
  const JobId waits = world.Submit(spec)->id;
  world.Run();
  EXPECT_EQ(world.StateOf(waits), JobState::kPending);
  ASSERT_TRUE(world.Apply({PriorityClassObject("team", 7)}).ok());
  world.Run();
  EXPECT_EQ(world.Job(waits)->priority, 7);
  EXPECT_EQ(world.StateOf(waits), JobState::kRunning) << "it may preempt now";
  EXPECT_EQ(world.StateOf(runs), JobState::kPending);
  world.Restart();
  EXPECT_EQ(world.Job(waits)->priority, 7);
}

TEST(Priorities, AnEditOfAClassReachesWhatRuns) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  ASSERT_TRUE(world
                  .Apply({PriorityClassObject("high", 10), PriorityClassObject("mid", 5),
                          ClusterQueueObject({.within = "LowerPriority"})})
                  .ok());
  JobSpec spec;
  spec.pods = {Pods{1, {{"cpu", 4000}}}};
  spec.name = "runs";
  spec.priority_class = "high";
  spec.priority = 10;
  const JobId runs = world.Submit(spec)->id;
  world.Run();
  spec.name = "waits";
  spec.priority_class = "mid";
  spec.priority = 5;
  const JobId waits = world.Submit(spec)->id;
  world.Run();
  ASSERT_EQ(world.StateOf(waits), JobState::kPending);
  ASSERT_TRUE(world.Apply({PriorityClassObject("high", 1)}).ok());
  world.Run();
  EXPECT_EQ(world.Job(runs)->priority, 1);
  EXPECT_EQ(world.StateOf(waits), JobState::kRunning) << "what runs is the lower one now";
  EXPECT_EQ(world.StateOf(runs), JobState::kPending);
  ChangeJobCommand promote;
  promote.job = runs;
  promote.priority_class = "mid";
  ASSERT_TRUE(world.Change(std::move(promote)).ok());
  EXPECT_EQ(world.Job(runs)->priority, 5);
  world.Restart();
  EXPECT_EQ(world.Job(runs)->priority_class, "mid");
  EXPECT_EQ(world.Job(runs)->priority, 5);
}

TEST(Activity, ADeactivatedJobGivesItsQuotaBackAndWaitsUntilItIsActivated) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  const JobId id = world.Submit({})->id;
  world.Run();
  ChangeJobCommand stop;
  stop.job = id;
  stop.active = false;
  ASSERT_TRUE(world.Change(std::move(stop)).ok());
  world.Run();
  EXPECT_EQ(world.Job(id)->reason, Reason::kDeactivated);
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->reason, "Deactivated");
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  ChangeJobCommand wake;
  wake.job = id;
  wake.active = true;
  ASSERT_TRUE(world.Change(std::move(wake)).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST(ReclaimablePods, WhatIsGivenBackIsFreeForOthersAndStaysGivenBack) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  JobSpec spec;
  spec.name = "wide";
  spec.pods = {Pods{4, {{"cpu", 1000}}}};
  const JobId wide = world.Submit(spec)->id;
  world.Run();
  const JobId narrow = world.Submit({.name = "narrow"})->id;
  world.Run();
  EXPECT_EQ(world.StateOf(narrow), JobState::kPending);
  ChangeJobCommand give;
  give.job = wide;
  give.reclaimable = {{"main", 1}};
  ASSERT_TRUE(world.Change(std::move(give)).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(narrow), JobState::kRunning);
  EXPECT_EQ(world.UsedCpu(), 4000);
  ChangeJobCommand take;
  take.job = wide;
  take.reclaimable = std::vector<ReclaimablePods>{};
  EXPECT_FALSE(world.Change(std::move(take)).ok());
  world.members.End(world.KeyOf(wide), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 1000);
}

TEST(ReclaimablePods, WhatAMemberSaysOfEndedPodsFreesTheirQuotaUntilTheJobStartsOver) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 4000}});
  JobSpec spec;
  spec.name = "wide";
  spec.pods = {Pods{4, {{"cpu", 1000}}}};
  const JobId wide = world.Submit(spec)->id;
  world.Run();
  const JobId narrow = world.Submit({.name = "narrow"})->id;
  world.Run();
  ASSERT_EQ(world.StateOf(narrow), JobState::kPending);
  ASSERT_TRUE(world.members.Progress(world.KeyOf(wide), 5, {{"main", 1}, {"unknown", 1}}));
  world.Run();
  EXPECT_EQ(world.StateOf(narrow), JobState::kRunning) << "quota and room are free";
  EXPECT_EQ(StateOf(*world.Job(wide)).reclaimable, (std::vector<ReclaimablePods>{{"main", 1}}));
  EXPECT_EQ(world.UsedCpu(), 4000);
  ASSERT_TRUE(world.members.Progress(world.KeyOf(wide), 5, {}));
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 4000) << "what was given back stays given back";
  world.Restart();
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 4000);
  EXPECT_THAT(world.metrics->Expose(), HasSubstr("muster_reconcile_corrections_total 0"));
  ASSERT_TRUE(world.members.Progress(world.KeyOf(wide), 7, {{"main", 9}}));
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 1000) << "no more than it has";
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, wide).ok());
  world.Run();
  EXPECT_TRUE(StateOf(*world.Job(wide)).reclaimable.empty());
  EXPECT_EQ(world.StateOf(wide), JobState::kPending) << "it needs all of its pods again";
  world.members.End(world.KeyOf(narrow), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(wide), JobState::kRunning);
  EXPECT_EQ(world.UsedCpu(), 4000);
}

TEST(ReclaimablePods, TurnedOffTheyKeepTheirQuota) {
  AdmissionSettings settings;
  settings.reclaimable_pods = false;
  EngineWorld world(1, OptionsWith(settings));
  world.Declare({{"cpu", 4000}}, {{"cpu", 4000}});
  JobSpec spec;
  spec.pods = {Pods{4, {{"cpu", 1000}}}};
  const JobId wide = world.Submit(spec)->id;
  world.Run();
  ASSERT_TRUE(world.members.Progress(world.KeyOf(wide), 5, {{"main", 2}}));
  world.Run();
  EXPECT_EQ(world.UsedCpu(), 4000);
}

TEST(Submissions, WhatTheEngineCannotCarryOutIsRefused) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  SubmitCommand command;
  command.jobs.push_back(MakeSubmission({}));
  ChangeState(command.jobs[0].draft.get(),
              [](AdmissionState* state) { state->replaces_slice = "default/a"; });
  std::string refusal;
  command.done = [&refusal](Result<std::vector<Result<SubmittedJob>>> result) {
    if (!result.ok()) refusal = result.error().detail;
  };
  world.engine->Post(std::move(command));
  world.Settle();
  EXPECT_THAT(refusal, HasSubstr("kueue.x-k8s.io/workload-slice-replacement-for"));
}

}  // namespace
}  // namespace muster::test
