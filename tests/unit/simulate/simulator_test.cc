#include "tests/unit/simulate/sim_world.h"

namespace muster::simulate::testing {
namespace {

constexpr const char* kReclaims =
    "  cohort: all\n  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}\n";

TEST(Simulator, WhatDoesNotFitStartsTheMomentThatRoomIsFree) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Queue("a", 4) + Job({"one", "a", 3, "0", "10"}) +
                 Job({"two", "a", 2, "1", "5"}) + Job({"small", "a", 1, "2", "1500ms"}));
  EXPECT_EQ(Story(scenario), (Lines{"0s Admitted one", "2s Admitted small", "3.5s Finished small",
                                    "10s Finished one", "10s Admitted two", "15s Finished two"}));
}

TEST(Simulator, WhoEndsMakesRoomForWhoComesAtTheSameInstant) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Queue("a", 1) + Job({"first", "a", 1, "0", "10"}) +
                 Job({"next", "a", 1, "10", "1"}));
  EXPECT_EQ(Story(scenario), (Lines{"0s Admitted first", "10s Finished first", "10s Admitted next",
                                    "11s Finished next"}));
}

TEST(Simulator, ABorrowerIsPreemptedLosesItsWorkAndRunsAgain) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Queue("a", 2, kReclaims) + Queue("b", 2, kReclaims) +
                 Job({"own", "a", 2, "0", "100"}) + Job({"borrower", "a", 2, "5", "20"}) +
                 Job({"claims", "b", 2, "15", "10"}));
  RunOutcome outcome;
  EXPECT_EQ(Story(scenario, FromStart(), &outcome),
            (Lines{"0s Admitted own", "5s Admitted borrower", "15s Evicted borrower for claims",
                   "15s Requeued borrower", "15s Admitted claims", "25s Finished claims",
                   "25s Admitted borrower", "45s Finished borrower", "100s Finished own"}));
  EXPECT_EQ(outcome.preemptions, 1u);
  EXPECT_EQ(outcome.admissions, 4u);
  EXPECT_EQ(outcome.end, RunEnd::kIdle);
}

TEST(Simulator, AVictimOfEvictionsInARowBacksOff) {
  const Scenario scenario = ScenarioOf(
      Flavor() + Priority("low", 1) + Priority("high", 2) +
      Queue("a", 2, "  preemption: {withinClusterQueue: LowerPriority}\n") +
      Job({"low", "a", 2, "0", "100", "low"}) + Job({"h1", "a", 2, "10", "500ms", "high"}) +
      Job({"h2", "a", 2, "20", "500ms", "high"}) + Job({"h3", "a", 2, "30", "500ms", "high"}));
  EXPECT_EQ(Story(scenario), (Lines{"0s Admitted low", "10s Evicted low for h1", "10s Requeued low",
                                    "10s Admitted h1", "10.5s Finished h1", "10.5s Admitted low",
                                    "20s Evicted low for h2", "20s Requeued low", "20s Admitted h2",
                                    "20.5s Finished h2", "21s Admitted low",
                                    "30s Evicted low for h3", "30s Requeued low", "30s Admitted h3",
                                    "30.5s Finished h3", "32s Admitted low", "132s Finished low"}));
}

TEST(Simulator, AVictimHoldsItsQuotaUntilItsPodsAreGone) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Priority("low", 1) + Priority("high", 2) +
                 Queue("a", 2, "  preemption: {withinClusterQueue: LowerPriority}\n") +
                 Job({"low", "a", 2, "0", "20", "low"}) + Job({"high", "a", 2, "5", "5", "high"}));
  RunOptions options = FromStart();
  options.stop_us = 3 * kMicrosPerSecond;
  EXPECT_EQ(
      Story(scenario, options),
      (Lines{"0s Admitted low", "5s Evicted low for high", "8s Requeued low", "8s Admitted high",
             "13s Finished high", "13s Admitted low", "33s Finished low"}));
}

TEST(Simulator, AVictimThatWouldHaveEndedWhileItStopsDoesNotEndTwice) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Priority("low", 1) + Priority("high", 2) +
                 Queue("a", 2, "  preemption: {withinClusterQueue: LowerPriority}\n") +
                 Job({"low", "a", 2, "0", "6", "low"}) + Job({"high", "a", 2, "5", "5", "high"}));
  RunOptions options = FromStart();
  options.stop_us = 3 * kMicrosPerSecond;
  EXPECT_EQ(Story(scenario, options).back(), "19s Finished low");
}

TEST(Simulator, LimitsEndAJobBeforeItsWorkIsDone) {
  const Scenario scenario = ScenarioOf(
      Flavor() + Queue("a", 2) + Job({"limited", "a", 1, "0", "100", "", "", 30}) +
      Job({"capped", "a", 1, "0", "100", "", ", kueue.x-k8s.io/max-exec-time-seconds: \"20\""}));
  RunOutcome outcome;
  EXPECT_EQ(Story(scenario, FromStart(), &outcome),
            (Lines{"0s Admitted limited", "0s Admitted capped", "20s Deactivated capped",
                   "30s TimedOut limited"}));
  ASSERT_EQ(outcome.waiting.size(), 1u);
  EXPECT_FALSE(StateOf(*outcome.waiting[0]).active);
}

TEST(Simulator, StopsAtTheGivenTimeWithWhatStillRuns) {
  const Scenario scenario =
      ScenarioOf(Flavor() + Queue("a", 1) + Job({"runs", "a", 1, "0", "100"}) +
                 Job({"waits", "a", 1, "1", "1"}) + Job({"later", "a", 1, "60", "1"}));
  RunOptions options = FromStart();
  options.until = WallTime{kClockStart.us + 50 * kMicrosPerSecond};
  RunOutcome outcome;
  EXPECT_EQ(Story(scenario, options, &outcome), (Lines{"0s Admitted runs"}));
  EXPECT_EQ(outcome.end, RunEnd::kUntil);
  EXPECT_EQ(outcome.last, *options.until);
  ASSERT_EQ(outcome.holding.size(), 1u);
  EXPECT_EQ(outcome.holding[0]->name, "runs");
  ASSERT_EQ(outcome.waiting.size(), 1u);
  EXPECT_EQ(outcome.waiting[0]->name, "waits");
}

TEST(Simulator, WhatCanNeverStartWaitsAtTheEndWithItsSentence) {
  const Scenario scenario = ScenarioOf(Flavor() + Queue("a", 1) + Job({"huge", "a", 5}) +
                                       Job({"alike", "a", 5}) + Job({"fits", "a", 1}));
  RunOutcome outcome;
  Story(scenario, FromStart(), &outcome);
  ASSERT_EQ(outcome.waiting.size(), 2u);
  for (const JobPtr& job : outcome.waiting) {
    EXPECT_EQ(job->reason, Reason::kExceedsMaxQuota) << job->name;
    EXPECT_NE(job->message.find("insufficient quota for cpu"), std::string::npos) << job->message;
  }
}

TEST(Simulator, ARunningJobGoesOnAndEndsAfterWhatIsLeftOfIt) {
  Scenario scenario = ScenarioOf(Flavor() + Queue("a", 1) + Job({"runs", "a", 1, "0", "7"}) +
                                 Job({"waits", "a", 1, "0", "1"}));
  auto running = std::make_shared<JobRecord>(*scenario.jobs[0].job);
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = "a";
  admission->pod_sets.push_back({"main", 1, {{"cpu", "default"}}, {{"cpu", 1000}}});
  running->admission = std::move(admission);
  running->state = JobState::kRunning;
  running->attempt = 3;
  scenario.jobs[0].job = std::move(running);
  EXPECT_EQ(Story(scenario), (Lines{"7s Finished runs", "7s Admitted waits", "8s Finished waits"}));
}

TEST(Simulator, RoomOnAMemberIsWaitedForAcrossCohorts) {
  const std::string member =
      "apiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata:\n"
      "  name: east\n  annotations: {muster.io/backend: simulated, muster.io/any-flavor: \"true\", "
      "muster.io/allocatable: '{\"cpu\":\"2\"}'}\n---\n";
  const Scenario scenario =
      ScenarioOf(member + Flavor() + Queue("a", 4) + Queue("b", 4) +
                 Job({"one", "a", 2, "0", "10"}) + Job({"two", "b", 2, "1", "5"}));
  EXPECT_EQ(Story(scenario),
            (Lines{"0s Admitted one", "10s Finished one", "10s Admitted two", "15s Finished two"}));
}

TEST(Simulator, AdmissionChecksAreAnsweredAtOnce) {
  const std::string check =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: AdmissionCheck\nmetadata: {name: budget}\n"
      "spec: {controllerName: example.com/budget}\n---\n";
  Scenario scenario = ScenarioOf(Flavor() + check + Queue("a", 1, "  admissionChecks: [budget]\n") +
                                 Job({"one", "a", 1, "0", "10"}));
  auto config = std::make_shared<ConfigView>(*scenario.config);
  config->admission_checks.at("budget").active = true;
  scenario.config = config;
  EXPECT_EQ(Story(scenario), (Lines{"0s Admitted one", "10s Finished one"}));
}

TEST(Simulator, PlacementThatWaitedForChecksIsDecidedInASecondPass) {
  const std::string machines =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata: {name: hosts}\n"
      "spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}\n---\n"
      "apiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata:\n"
      "  name: east\n  annotations: {muster.io/backend: simulated, muster.io/any-flavor: \"true\", "
      "muster.io/allocatable: '{\"cpu\":\"2\"}'}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: default}\n"
      "spec: {nodeLabels: {kubernetes.io/hostname: east}, topologyName: hosts}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: AdmissionCheck\nmetadata: {name: provision}\n"
      "spec: {controllerName: kueue.x-k8s.io/provisioning-request}\n---\n";
  Scenario scenario = ScenarioOf(machines + Queue("a", 2, "  admissionChecks: [provision]\n") +
                                 Job({"one", "a", 2, "0", "10"}));
  auto config = std::make_shared<ConfigView>(*scenario.config);
  config->admission_checks.at("provision").active = true;
  scenario.config = config;
  EXPECT_EQ(Story(scenario), (Lines{"0s Reserved one", "1s Admitted one", "11s Finished one"}));
}

TEST(Simulator, ASecondPassThatCanNeverSucceedDoesNotKeepTheRunGoing) {
  const std::string machines =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Topology\nmetadata: {name: hosts}\n"
      "spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}\n---\n"
      "apiVersion: cluster.kubernetes-fleet.io/v1beta1\nkind: MemberCluster\nmetadata:\n"
      "  name: east\n  annotations: {muster.io/backend: simulated, muster.io/any-flavor: \"true\", "
      "muster.io/allocatable: '{\"cpu\":\"8\"}', muster.io/nodes: "
      "'[{\"name\":\"m\",\"allocatable\":{\"cpu\":\"1\",\"pods\":\"9\"}}]'}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: default}\n"
      "spec: {nodeLabels: {kubernetes.io/hostname: m}, topologyName: hosts}\n---\n"
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: AdmissionCheck\nmetadata: {name: provision}\n"
      "spec: {controllerName: kueue.x-k8s.io/provisioning-request}\n---\n";
  Scenario scenario = ScenarioOf(machines + Queue("a", 2, "  admissionChecks: [provision]\n") +
                                 Job({"one", "a", 2, "0", "10"}));
  auto config = std::make_shared<ConfigView>(*scenario.config);
  config->admission_checks.at("provision").active = true;
  scenario.config = config;
  RunOptions options = FromStart();
  options.max_cycles = 1000;
  RunOutcome outcome;
  EXPECT_EQ(Story(scenario, options, &outcome), (Lines{"0s Reserved one"}));
  EXPECT_EQ(outcome.end, RunEnd::kIdle);
  EXPECT_EQ(outcome.holding.size(), 1u);
}

TEST(Simulator, LowerUsageOfALocalQueueGoesFirstWhereTheSettingsSaySo) {
  AdmissionSettings settings;
  settings.admission_fair_sharing.emplace();
  settings.admission_fair_sharing->half_life_s = 3600;
  settings.admission_fair_sharing->sampling_interval_s = 60;
  ReadOptions options;
  options.settings = std::make_shared<const AdmissionSettings>(settings);
  const std::string second =
      "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: thrifty}\n"
      "spec: {clusterQueue: a}\n---\n";
  const std::string usage_based =
      "  admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}\n";
  const std::string jobs = Job({"greedy-1", "a", 1, "0", "300"}) +
                           Job({"greedy-2", "a", 1, "1", "10"}) +
                           Job({"modest", "thrifty", 1, "2", "10"});
  EXPECT_EQ(Story(ScenarioOf(Flavor() + Queue("a", 1, usage_based) + second + jobs, options)),
            (Lines{"0s Admitted greedy-1", "300s Finished greedy-1", "300s Admitted modest",
                   "310s Finished modest", "310s Admitted greedy-2", "320s Finished greedy-2"}));
  EXPECT_EQ(Story(ScenarioOf(Flavor() + Queue("a", 1) + second + jobs, options))[2],
            "300s Admitted greedy-2");
}

// A few dozen jobs of three sizes over three queues, from a fixed rule.
Scenario Busy() {
  std::string yaml = Flavor() + Priority("low", 1) + Priority("high", 2) +
                     Queue("a", 3, kReclaims) + Queue("b", 3, kReclaims) + Queue("c", 2, kReclaims);
  for (int i = 0; i < 60; ++i) {
    const std::string queue(1, static_cast<char>('a' + i % 3));
    yaml += Job({"j" + std::to_string(i), queue, 1 + i * 5 % 4, std::to_string(i * 7 % 50),
                 std::to_string(1 + i * 11 % 13), i % 4 == 0 ? "high" : "low"});
  }
  return ScenarioOf(yaml);
}

TEST(Simulator, EqualScenariosGiveEqualRunsWhateverTheBudget) {
  const Lines story = Story(Busy());
  EXPECT_GT(story.size(), 100u);
  EXPECT_EQ(Story(Busy()), story);
  RunOptions options = FromStart();
  options.budget.heads = 1;
  EXPECT_EQ(Story(Busy(), options), story);
}

TEST(Simulator, TheDecisionsOfOneInstantNeverHoldMoreThanTheQuota) {
  const Scenario scenario = Busy();
  std::int64_t held = 0;
  std::map<JobId, std::int64_t> of;
  simulate::Run(scenario, FromStart(), [&](const Decision& one) {
    if (one.kind == DecisionKind::kAdmitted) {
      of[one.job->id] = AmountOf(one.held->pod_sets[0].usage, "cpu");
      held += of[one.job->id];
    } else if (one.kind != DecisionKind::kEvicted) {
      held -= of[one.job->id];
      of[one.job->id] = 0;
    }
    EXPECT_LE(held, 8000);
  });
  EXPECT_EQ(held, 0);
}

TEST(Simulator, ARunEndsAtItsLimitOfCyclesAndWhenItIsToldTo) {
  RunOptions options = FromStart();
  options.max_cycles = 3;
  RunOutcome outcome;
  Story(Busy(), options, &outcome);
  EXPECT_EQ(outcome.end, RunEnd::kCycles);
  EXPECT_EQ(outcome.cycles, 3u);
  options.max_cycles = 0;
  int asked = 0;
  options.keep_going = [&asked] { return ++asked < 5; };
  Story(Busy(), options, &outcome);
  EXPECT_EQ(outcome.end, RunEnd::kStopped);
}

}  // namespace
}  // namespace muster::simulate::testing
