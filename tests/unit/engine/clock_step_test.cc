// Steps of the host's wall clock (docs/rules/time.md): spans of time end when they have passed,
// absolute times when the host's clock shows them.
#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_gates.h"
#include "schedd/model/admission_lifecycle.h"
#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

constexpr std::int64_t kHourMs = 3'600'000;
constexpr std::int64_t kSpanMs = 600'000;
constexpr std::int64_t kTtlS = 60;

// Something that is to end when a span has passed.
struct Span {
  const char* sentence;
  std::int64_t ms;
  JobId (*begin)(EngineWorld* world);
  bool (*over)(const EngineWorld& world, JobId id);
};

void DeclareQueue(EngineWorld* world) { world->Declare({{"cpu", 4000}}, {{"cpu", 64000}}); }

JobId RunningJob(EngineWorld* world, const JobSpec& spec) {
  DeclareQueue(world);
  const JobId id = world->Submit(spec)->id;
  world->Run();
  EXPECT_EQ(world->StateOf(id), JobState::kRunning);
  return id;
}

JobId EndedJobOf(EngineWorld* world, const JobSpec& spec) {
  const JobId id = RunningJob(world, spec);
  world->members.End(world->KeyOf(id), RemotePhase::kSucceeded);
  world->Run();
  return id;
}

// It waits for ten minutes.
JobId RequeuedJob(EngineWorld* world) {
  const JobId id = RunningJob(world, {});
  const ObjectChange queue = ClusterQueueObject({.nominal = {{"cpu", 4000}}});
  EXPECT_TRUE(world->Apply({WithAnnotation(queue, "muster.io/requeue-wait", "10m")}).ok());
  EXPECT_TRUE(world->Do(JobVerb::kRequeue, id).ok());
  world->Run();
  return id;
}

// Its member never starts it.
JobId UnreadyJob(EngineWorld* world) {
  DeclareQueue(world);
  const JobId id = world->Submit({})->id;
  world->members.ForgetOrders();
  return id;
}

JobId LimitedJob(EngineWorld* world) {
  return RunningJob(world, {.max_execution_s = kSpanMs / 1000});
}

// It waits behind another job.
JobId KeptAllocation(EngineWorld* world) {
  DeclareQueue(world);
  (void)SubmitScript(world, {.job = {.name = "full", .pods = {Pods{1, {{"cpu", 4000}}}}}});
  const BatchDetails allocation = DetailsWith([](auto& batch) { batch.allocation_only = true; });
  const JobId id = SubmitScript(world, {.job = {.name = "alloc"}, .batch = allocation});
  EXPECT_TRUE(world->Do(JobVerb::kKeep, id).ok());
  return id;
}

JobId EndedJob(EngineWorld* world) { return EndedJobOf(world, {}); }
JobId EndedJobWithTtl(EngineWorld* world) { return EndedJobOf(world, {.ttl_s = kTtlS}); }

bool IsEvicted(const EngineWorld& world, JobId id) { return IsTrue(*world.Job(id), "Evicted"); }
bool Runs(const EngineWorld& world, JobId id) { return world.StateOf(id) == JobState::kRunning; }
bool RunsNot(const EngineWorld& world, JobId id) { return !Runs(world, id); }
bool IsCancelled(const EngineWorld& world, JobId id) {
  return world.StateOf(id) == JobState::kCancelled;
}
bool IsGone(const EngineWorld& world, JobId id) { return world.Job(id) == nullptr; }

const Span kSpans[] = {
    {"a job whose pods do not become ready is evicted", kSpanMs, UnreadyJob, IsEvicted},
    {"a job stops at its maximum execution time", kSpanMs, LimitedJob, RunsNot},
    {"a requeued job runs again", kSpanMs, RequeuedJob, Runs},
    {"an allocation without a client ends", limits::kClientLeaseS * 1000, KeptAllocation,
     IsCancelled},
    {"an ended job leaves memory", limits::kFinishedJobsKeptMs, EndedJob, IsGone},
    {"an ended job is deleted after its TTL", kTtlS * 1000, EndedJobWithTtl, IsGone},
};

// A span may be judged a twelfth too short or too long while the daemon makes up for a step.
TEST(ClockStep, ASpanOfTimeEndsWhenItHasPassed_HoweverTheHostsClockIsSet) {
  for (const Span& span : kSpans) {
    for (const std::int64_t step_ms : {kHourMs, -kHourMs, std::int64_t{0}}) {
      SCOPED_TRACE(std::string(span.sentence) + ", step " + std::to_string(step_ms));
      AdmissionSettings settings;
      settings.pods_ready.timeout_s = kSpanMs / 1000;
      EngineWorld world(1, OptionsWith(settings));
      const JobId id = span.begin(&world);
      world.clock.Jump(step_ms);
      world.Settle();
      EXPECT_FALSE(span.over(world, id)) << "at once";
      world.clock.Advance(span.ms * 9 / 10);
      world.Settle();
      EXPECT_FALSE(span.over(world, id)) << "too early";
      world.clock.Advance(span.ms * 2 / 10);
      world.Run();
      EXPECT_TRUE(span.over(world, id)) << "too late";
    }
  }
}

TEST(ClockStep, AWaitThatWasBegunBeforeTheClockWasSetBack_IsNoLongerAfterARestart) {
  EngineWorld world;
  const JobId id = RequeuedJob(&world);
  world.clock.Jump(-kHourMs);
  world.Restart();
  world.clock.Advance(kSpanMs * 9 / 10);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  world.clock.Advance(kSpanMs * 2 / 10);
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

class NamedTimes : public ::testing::Test {
 protected:
  NamedTimes() { DeclareQueue(&world); }

  WallTime After(std::int64_t seconds) { return world.clock.WallNow().PlusSeconds(seconds); }
  JobId Submit(ScriptSpec spec) {
    const JobId id = SubmitScript(&world, spec);
    world.Run();
    return id;
  }
  JobId Beginning(std::int64_t seconds, const std::string& name = "job") {
    return Submit(
        {.job = {.name = name}, .state = StateWith([&](auto& s) { s.begin_at = After(seconds); })});
  }
  JobId Due(const std::string& name, bool held, std::int64_t seconds) {
    return Submit({.job = {.name = name, .held = held, .time_limit_s = 60},
                   .state = StateWith([&](auto& s) { s.deadline = After(seconds); })});
  }
  void Pass(std::int64_t seconds) {
    world.clock.Advance(seconds * 1000);
    world.Run();
  }
  void Step(std::int64_t ms) {
    world.clock.Jump(ms);
    world.Run();
  }

  EngineWorld world;
};

TEST_F(NamedTimes, Begin_ComesWithTheHostsClock_ThatIsSetForward) {
  const JobId id = Beginning(1800);
  Pass(60);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Step(kHourMs);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  ASSERT_TRUE(world.Do(JobVerb::kRequeue, id).ok());
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning) << "the time of --begin holds it back no more";
  EXPECT_EQ(world.Job(id)->attempt, 2);
}

TEST_F(NamedTimes, Begin_WaitsForTheHostsClock_ThatIsSetBack) {
  const JobId id = Beginning(600);
  Step(-kHourMs);
  Pass(700);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(world.Job(id)->reason, Reason::kBeginTime);
  Pass(3600 - 101);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Pass(1);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(NamedTimes, Begin_OfAJobThatIsSubmittedAfterAStep_IsReadByTheHostsClock) {
  Step(-kHourMs);
  const JobId id = Beginning(60);
  Pass(59);
  EXPECT_EQ(world.StateOf(id), JobState::kPending) << "the daemon's own time is an hour later";
  Pass(1);
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
}

TEST_F(NamedTimes, Begin_ThatIsMovedAfterAStep_IsReadByTheHostsClock) {
  for (const std::int64_t step_ms : {-kHourMs, 2 * kHourMs}) {
    const JobId id = Beginning(86'400, "step" + std::to_string(step_ms));
    Step(step_ms);
    JobUpdate update;
    update.begin_at = std::optional<WallTime>(After(60));
    ASSERT_TRUE(Update(&world, id, update).ok());
    Pass(59);
    EXPECT_EQ(world.StateOf(id), JobState::kPending) << step_ms;
    Pass(1);
    EXPECT_EQ(world.StateOf(id), JobState::kRunning) << step_ms;
  }
}

TEST_F(NamedTimes, Deadline_ComesWithTheHostsClock) {
  const JobId waits = Due("waits", true, 1800), runs = Due("runs", false, 1800);
  Step(-kHourMs);
  Pass(3600);
  EXPECT_EQ(world.StateOf(waits), JobState::kHeld) << "30 minutes are left";
  EXPECT_EQ(world.StateOf(runs), JobState::kRunning);
  Step(kHourMs);
  for (const JobId id : {waits, runs}) {
    EXPECT_EQ(world.StateOf(id), JobState::kCancelled);
    EXPECT_EQ(world.Job(id)->reason, Reason::kDeadlineMissed);
  }
}

}  // namespace
}  // namespace muster::test
