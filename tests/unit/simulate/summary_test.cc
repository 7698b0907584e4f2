#include "tests/unit/simulate/sim_world.h"

namespace muster::simulate::testing {
namespace {

Summary SummaryOf(const Scenario& scenario, const RunOptions& options = FromStart()) {
  return Play(scenario, options, nullptr).summary;
}

TEST(Summary, WaitsAreByClassFromArrivalToTheFirstStart) {
  std::string yaml = Flavor() + Priority("low", 1) + Priority("high", 9) + Queue("a", 1);
  yaml += Job({"first", "a", 1, "0", "10", "low"}) + Job({"second", "a", 1, "4", "10", "low"}) +
          Job({"urgent", "a", 1, "8", "10", "high"}) + Job({"never", "a", 2, "8", "1", "high"});
  const Summary summary = SummaryOf(ScenarioOf(yaml));
  ASSERT_EQ(summary.waits.size(), 2u);
  const WaitFigures& high = summary.waits[0];
  EXPECT_EQ(high.priority_class, "high");
  EXPECT_EQ(high.started, 1u);
  EXPECT_EQ(high.never_started, 1u);
  EXPECT_EQ(high.mean_us, 2 * kMicrosPerSecond);
  const WaitFigures& low = summary.waits[1];
  EXPECT_EQ(low.started, 2u);
  EXPECT_EQ(low.median_us, 0);
  EXPECT_EQ(low.max_us, 16 * kMicrosPerSecond);
  EXPECT_EQ(low.p95_us, 16 * kMicrosPerSecond);
  EXPECT_EQ(low.mean_us, 8 * kMicrosPerSecond);
  EXPECT_EQ(summary.makespan_us, 30 * kMicrosPerSecond);
  EXPECT_EQ(summary.jobs, 4u);
  EXPECT_EQ(summary.finished, 3u);
  EXPECT_EQ(summary.waiting, 1u);
}

TEST(Summary, UseIsWhatWasHeldOverTheMakespanInPercentOfNominal) {
  const Summary summary = SummaryOf(
      ScenarioOf(Flavor() + Queue("a", 4, "  cohort: all\n") + Queue("b", 4, "  cohort: all\n") +
                 Job({"wide", "a", 6, "10", "30"}) + Job({"long", "b", 1, "10", "60"})));
  ASSERT_EQ(summary.uses.size(), 2u);
  EXPECT_EQ(summary.uses[0].cluster_queue, "a");
  EXPECT_EQ(summary.uses[0].held, 3000) << "6 cpus for half of the time";
  EXPECT_EQ(summary.uses[0].permille, 750);
  EXPECT_EQ(summary.uses[1].permille, 250);
  EXPECT_EQ(summary.makespan_us, 60 * kMicrosPerSecond);
}

TEST(Summary, EvictedWorkIsCountedAsLost) {
  const std::string policy = "  preemption: {withinClusterQueue: LowerPriority}\n";
  const Summary summary = SummaryOf(
      ScenarioOf(Flavor() + Priority("low", 1) + Priority("high", 2) + Queue("a", 1, policy) +
                 Job({"low", "a", 1, "0", "20", "low"}) + Job({"high", "a", 1, "5", "5", "high"})));
  EXPECT_EQ(summary.preemptions, 1u);
  EXPECT_EQ(summary.lost_us, 5 * kMicrosPerSecond);
  EXPECT_EQ(summary.starts, 3u);
  EXPECT_EQ(summary.uses[0].permille, 1000);
}

TEST(Summary, WhatTheEndCutsOffIsCountedWhereItStood) {
  RunOptions options = FromStart();
  options.until = WallTime{kClockStart.us + 20 * kMicrosPerSecond};
  const Summary summary =
      SummaryOf(ScenarioOf(Flavor() + Queue("a", 2) + Job({"runs", "a", 1, "0", "100"}) +
                           Job({"waits", "a", 2, "1", "1"}) + Job({"later", "a", 1, "60", "1"})),
                options);
  EXPECT_EQ(summary.running, 1u);
  EXPECT_EQ(summary.waiting, 1u);
  EXPECT_EQ(summary.not_arrived, 1u);
  EXPECT_EQ(summary.end, RunEnd::kUntil);
  EXPECT_EQ(summary.uses[0].permille, 500) << "one of two cpus all the time";
}

TEST(Report, SaysTheSameInJsonAndInLines) {
  const Scenario scenario = ScenarioOf(Flavor() + Queue("a", 1) + Job({"one", "a", 1, "3", "10"}));
  Lines lines;
  json::array objects;
  simulate::Run(scenario, FromStart(), [&](const Decision& one) {
    lines.push_back(DecisionLine(one, kClockStart));
    objects.push_back(DecisionJson(one, kClockStart));
  });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "            3s  Admitted     default/one (1)  a: 1 cpu of default, after 0s");
  EXPECT_EQ(lines[1], "           13s  Finished     default/one (1)  a");
  const json::object& first = objects[0].as_object();
  EXPECT_EQ(first.at("at").to_number<double>(), 3);
  EXPECT_EQ(first.at("decision").as_string(), "Admitted");
  EXPECT_EQ(first.at("held").at(0).at("amount").as_string(), "1");
  EXPECT_EQ(SecondsText(1'500'000), "1.5s");
  EXPECT_EQ(SecondsText(61'020'000), "61.02s");
}

}  // namespace
}  // namespace muster::simulate::testing
