// Steps of batch scripts and measured use, from the report of a member to the store (rules B53 and
// B54): whose they are, when they are closed, and that neither floods nor a killed daemon lose any.
#include <gtest/gtest.h>

#include <random>

#include "schedd/base/limits_slurm_steps_store.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

struct StepsWorld : EngineWorld {
  StepsWorld() { Declare({{"cpu", 64'000}}, {{"cpu", 64'000}}); }

  // A batch script that runs.
  JobId Script(const std::string& name = "job") {
    const JobId id = Submit({.name = name, .no_requeue = true})->id;
    Run();
    return id;
  }
  void Tell(const DispatchKey& key, std::vector<StepRecord> steps, MeasuredUse use = {},
            RemotePhase phase = RemotePhase::kRunning) {
    Observation seen;
    seen.key = key;
    seen.phase = phase;
    seen.observed_at = clock.WallNow();
    seen.start_time = clock.WallNow();
    if (phase != RemotePhase::kRunning) seen.end_time = clock.WallNow();
    seen.use = use;
    seen.steps = std::move(steps);
    engine->Post(ObservedCommand{std::move(seen)});
  }
  StepRecord Step(std::int32_t number) {
    StepRecord step;
    step.step = number;
    step.name = "hostname";
    step.nodes = "east";
    step.start_time = clock.WallNow();
    return step;
  }
  StepRecord Ended(StepRecord step, StepState state = StepState::kCompleted) {
    step.state = state;
    step.end_time = clock.WallNow();
    return step;
  }
  std::vector<StepRecord> StepsOf(JobId id) {
    StepQuery query;
    query.jobs = {id};
    query.limit = 100'000;
    return *store.ReadSteps(query);
  }
  MeasuredUse UseOf(JobId id) { return store.ReadAttempts({id})->back().use; }
};

TEST(Steps, AreThoseOfTheRowWhateverTheReportSays) {
  StepsWorld world;
  const JobId other = world.Script("other");
  const JobId id = world.Script();
  StepRecord step = world.Step(0);
  step.job = other;
  step.attempt = 7;
  world.Tell(world.KeyOf(id), {step, world.Step(1)});
  world.Settle();
  ASSERT_EQ(world.StepsOf(id).size(), 2U);
  EXPECT_EQ(world.StepsOf(id)[0].attempt, 1);
  EXPECT_TRUE(world.StepsOf(other).empty());
  DispatchKey unknown = world.KeyOf(id);
  unknown.attempt = 5;
  world.Tell(unknown, {world.Step(2)});
  world.Settle();
  EXPECT_EQ(world.StepsOf(id).size(), 2U) << "no row, no step";
}

TEST(Steps, AreClosedWithTheirAttemptAndStayAsTheyAre) {
  StepsWorld world;
  const JobId id = world.Script();
  const DispatchKey key = world.KeyOf(id);
  const StepRecord done = world.Ended(world.Step(0), StepState::kFailed);
  world.Tell(key, {done, world.Step(1)});
  world.Settle();
  EXPECT_EQ(world.StepsOf(id)[1].state, StepState::kRunning);
  world.clock.Advance(3000);
  // The last report ends one step more, and leaves one open.
  world.Tell(key, {world.Ended(world.Step(2)), world.Step(3)}, {}, RemotePhase::kSucceeded);
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kSucceeded);
  const WallTime end = world.Job(id)->end_time;
  const std::vector<StepRecord> steps = world.StepsOf(id);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].state, StepState::kFailed);
  EXPECT_EQ(steps[1].state, StepState::kCancelled);
  EXPECT_EQ(steps[1].exit_signal, 15);
  EXPECT_EQ(steps[1].end_time, end);
  EXPECT_EQ(steps[2].state, StepState::kCompleted);
  EXPECT_EQ(steps[3].state, StepState::kCancelled);
  // What comes late changes none of them, and is closed itself.
  world.Tell(key, {world.Ended(world.Step(1)), world.Step(4)}, {}, RemotePhase::kSucceeded);
  world.Run();
  const std::vector<StepRecord> later = world.StepsOf(id);
  ASSERT_EQ(later.size(), 5U);
  EXPECT_EQ(later[1], steps[1]);
  EXPECT_EQ(later[4].state, StepState::kCancelled);
}

TEST(Steps, OfACancelledJobAreClosed) {
  StepsWorld world;
  const JobId id = world.Script();
  world.Tell(world.KeyOf(id), {world.Step(0)}, {500, 0, 100, 0, 0});
  world.Settle();
  ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kCancelled);
  EXPECT_EQ(world.StepsOf(id)[0].state, StepState::kCancelled);
  EXPECT_EQ(world.UseOf(id), (MeasuredUse{500, 0, 100, 0, 0})) << "the last that was told";
}

TEST(Steps, NothingInAReportIsBelieved) {
  StepsWorld world;
  const JobId id = world.Script();
  StepRecord odd = world.Step(0);
  odd.name = std::string("a\0b\xff\n", 5) + std::string(1000, 'x');
  odd.nodes = std::string(100'000, 'n');
  odd.node_count = odd.tasks = odd.cpus = -4;
  odd.exit_code = -1;
  odd.exit_signal = 4711;
  odd.use = {-1, -1, -1, -1, -1};
  odd.start_time.us = std::int64_t{1} << 62;
  odd.end_time.us = -5;
  StepRecord ends_first = world.Ended(world.Step(1));
  ends_first.end_time.us = 1;
  std::vector<StepRecord> refused(4, world.Step(-1));
  refused[1].step = limits::kStepsPerAttempt;
  refused[2] = refused[3] = world.Step(2);
  refused[2].state = static_cast<StepState>(0);
  refused[3].state = static_cast<StepState>(77);
  refused.push_back(odd);
  refused.push_back(ends_first);
  world.Tell(world.KeyOf(id), refused);
  world.Settle();
  const std::vector<StepRecord> steps = world.StepsOf(id);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name.substr(0, 7), "a?b??xx");
  EXPECT_EQ(steps[0].name.size(), limits::kStoredStepNameBytes);
  EXPECT_EQ(steps[0].nodes.size(), limits::kStoredStepNodesBytes);
  EXPECT_EQ(steps[0].tasks, 1);
  EXPECT_EQ(steps[0].exit_code, 0);
  EXPECT_EQ(steps[0].exit_signal, 64);
  EXPECT_EQ(steps[0].use, MeasuredUse{});
  EXPECT_EQ(steps[0].start_time, world.clock.WallNow());
  EXPECT_FALSE(steps[0].end_time.set()) << "it runs";
  EXPECT_EQ(steps[1].end_time, steps[1].start_time);
}

TEST(Steps, AFloodOfThemIsWrittenWholeAndHoldsUpNoOther) {
  StepsWorld world;
  const JobId id = world.Script();
  const JobId other = world.Script("other");
  std::vector<StepRecord> flood;
  for (std::int32_t number = 0; number < 5000; ++number) flood.push_back(world.Step(number));
  for (std::int32_t number = 0; number < 5000; ++number)
    flood.push_back(world.Ended(world.Step(number)));
  world.Tell(world.KeyOf(id), flood, {}, RemotePhase::kSucceeded);
  ASSERT_TRUE(world.members.End(world.KeyOf(other), RemotePhase::kSucceeded));
  world.Run();
  EXPECT_EQ(world.StateOf(other), JobState::kSucceeded);
  EXPECT_EQ(world.StateOf(id), JobState::kSucceeded);
  const std::vector<StepRecord> steps = world.StepsOf(id);
  ASSERT_EQ(steps.size(), 5000U);
  for (const StepRecord& step : steps) ASSERT_EQ(step.state, StepState::kCompleted);
}

TEST(Steps, MeasuredUseIsTheMostThatWasToldOfTheAttempt) {
  StepsWorld world;
  const JobId id = world.Script();
  const DispatchKey key = world.KeyOf(id);
  world.Tell(key, {}, {100, 10, 5000, 7, 0});
  world.Settle();
  world.Tell(key, {}, {90, 20, -1, 7, 3}, RemotePhase::kSucceeded);
  world.Run();
  ASSERT_EQ(world.StateOf(id), JobState::kSucceeded);
  EXPECT_EQ(world.UseOf(id), (MeasuredUse{100, 20, 5000, 7, 3}));
  const JobId next = world.Script("next");
  ASSERT_TRUE(world.members.End(world.KeyOf(next), RemotePhase::kSucceeded));
  world.Run();
  EXPECT_EQ(world.UseOf(next), MeasuredUse{}) << "nothing was told";
}

// The member tells a growing history in reports of any size, repeats old ones, and the daemon is
// killed between them, sometimes before what it has heard is committed; after a restart the member
// tells what it has again. The rows are those of the history.
TEST(Steps, RepeatsAndKillsLoseAndChangeNone) {
  for (std::uint32_t seed = 1; seed <= 25; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::size_t n) { return random() % n; };
    StepsWorld world;
    const JobId id = world.Script();
    const DispatchKey key = world.KeyOf(id);
    std::vector<StepRecord> history, latest;
    std::vector<std::vector<StepRecord>> told;
    for (int round = 0; round < 40; ++round) {
      world.clock.Advance(10);
      std::vector<StepRecord> report;
      for (std::size_t changes = below(4); changes > 0; --changes) {
        const std::size_t number = below(15);
        if (number >= latest.size()) {
          latest.push_back(world.Step(static_cast<std::int32_t>(latest.size())));
          report.push_back(latest.back());
        } else if (!latest[number].end_time.set()) {
          latest[number] = world.Ended(latest[number], static_cast<StepState>(2 + below(5)));
          report.push_back(latest[number]);
        }
      }
      told.push_back(report);
      world.Tell(key, std::move(report));
      if (below(4) == 0) world.Tell(key, told[below(told.size())]);
      if (below(3) == 0) world.Settle();
      if (below(6) == 0) {
        world.Restart();
        world.Settle();
        world.Tell(key, latest);
      }
    }
    world.Run();
    ASSERT_EQ(world.StateOf(id), JobState::kRunning) << seed;
    for (StepRecord& step : latest) {
      step.job = id;
      step.attempt = 1;
    }
    EXPECT_EQ(world.StepsOf(id), latest) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::test
