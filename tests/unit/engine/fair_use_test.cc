// Admission fair sharing: LocalQueues of one ClusterQueue are served by their recent usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

constexpr std::int64_t kMinuteMs = 60'000;

AdmissionSettings HourlyHalf() {
  AdmissionSettings settings;
  settings.admission_fair_sharing = AdmissionFairSharing{3600, 300, {}};
  return settings;
}

ObjectChange UsageBased(const QueueSpec& spec) {
  return WithSpec(ClusterQueueObject(spec), "admissionScope",
                  R"({"admissionMode":"UsageBasedAdmissionFairSharing"})");
}

ObjectChange Weighty(const std::string& name, const std::string& weight) {
  return WithSpec(LocalQueueObject(name, "cq"), "fairSharing", R"({"weight":")" + weight + "\"}");
}

void DeclareTwo(EngineWorld* world, const std::string& weight_of_b, QueueSpec spec = {}) {
  world->Declare({{"cpu", 4000}}, {{"cpu", 64000}});
  ASSERT_TRUE(world->Apply({UsageBased(spec), Weighty("a", "1"), Weighty("b", weight_of_b)}).ok());
}

JobId Enter(EngineWorld* world, const std::string& name, const std::string& queue,
            std::int64_t cpu) {
  JobSpec spec;
  spec.name = name;
  spec.queue = queue;
  spec.pods = {Pods{1, {{"cpu", cpu}}}};
  return world->Submit(spec)->id;
}

void Hours(EngineWorld* world, int hours) {
  for (int i = 0; i < 12 * hours; ++i) {
    world->clock.Advance(5 * kMinuteMs);
    world->Run();
  }
}

void RunFor(EngineWorld* world, const std::string& name, const std::string& queue, int hours) {
  const JobId id = Enter(world, name, queue, 4000);
  world->Run();
  ASSERT_EQ(world->StateOf(id), JobState::kRunning);
  Hours(world, hours);
  world->members.End(world->KeyOf(id), RemotePhase::kSucceeded);
  world->Run();
}

std::int64_t CpuOf(const EngineWorld& world, const std::string& queue) {
  return AmountOf(world.engine->View()->fair_uses->at({"default", queue}).consumed, "cpu");
}

TEST(FairUse, TheQueueThatUsedLessOfItsWeightLatelyGoesFirst) {
  for (const bool restarted : {false, true}) {
    for (const bool heavy : {false, true}) {
      EngineWorld world(1, OptionsWith(HourlyHalf()));
      DeclareTwo(&world, heavy ? "4" : "1");
      RunFor(&world, "past-a", "a", 1);
      RunFor(&world, "past-b", "b", 1);
      EXPECT_GT(CpuOf(world, "b"), CpuOf(world, "a")) << "what is longer ago counts half";
      const JobId filler = Enter(&world, "filler", "queue", 4000);
      world.Run();
      // SubmittedJob in the reverse of the order in which they must be served.
      const JobId b = heavy ? JobId{} : Enter(&world, "next-b", "b", 4000);
      const JobId a = Enter(&world, "next-a", "a", 4000);
      const JobId later_b = heavy ? Enter(&world, "next-b", "b", 4000) : b;
      if (restarted) {
        const std::int64_t before = CpuOf(world, "a");
        world.Restart();
        EXPECT_EQ(CpuOf(world, "a"), before);
      }
      world.members.End(world.KeyOf(filler), RemotePhase::kSucceeded);
      world.Run();
      EXPECT_EQ(world.StateOf(heavy ? later_b : a), JobState::kRunning) << heavy << restarted;
      EXPECT_EQ(world.StateOf(heavy ? a : later_b), JobState::kPending) << heavy << restarted;
    }
  }
}

TEST(FairUse, HistoriesHalveEveryHalfLifeAndAreStoredWithEverySample) {
  EngineWorld world(1, OptionsWith(HourlyHalf()));
  DeclareTwo(&world, "1");
  RunFor(&world, "past-a", "a", 1);
  const std::int64_t used = CpuOf(world, "a");
  EXPECT_NEAR(static_cast<double>(used), 2000 + 4000 * 0.0561 / 2, 10)
      << "half of what it had all the time, and of its penalty";
  Hours(&world, 2);
  EXPECT_NEAR(static_cast<double>(CpuOf(world, "a")), static_cast<double>(used) / 4, 2);
  std::int64_t stored = -1;
  for (const FairUseRow& row : world.Stored().fair_use) {
    if (row.local_queue == "a") stored = AmountOf(row.consumed, "cpu");
  }
  EXPECT_EQ(stored, CpuOf(world, "a")) << "cpu is counted in thousandths anyhow";
}

TEST(FairUse, TheFirstAdmissionCountsBeforeTheSecondOfTheSameCycle) {
  for (const bool usage_based : {true, false}) {
    EngineWorld world(1, OptionsWith(HourlyHalf()));
    QueueSpec spec{.nominal = {{"cpu", 2000}}, .stop_policy = "Hold"};
    DeclareTwo(&world, "1", spec);
    const JobId first = Enter(&world, "a1", "a", 1000);
    const JobId second = Enter(&world, "a2", "a", 1000);
    const JobId other = Enter(&world, "b1", "b", 1000);
    spec.stop_policy = "None";
    ASSERT_TRUE(world.Apply({usage_based ? UsageBased(spec) : ClusterQueueObject(spec)}).ok());
    world.Run();
    EXPECT_EQ(world.StateOf(first), JobState::kRunning);
    EXPECT_EQ(world.StateOf(second), usage_based ? JobState::kPending : JobState::kRunning);
    EXPECT_EQ(world.StateOf(other), usage_based ? JobState::kRunning : JobState::kPending);
  }
}

TEST(FairUse, AReservationWeighsUntilItEndsAndAlsoAfterARestart) {
  for (const bool cancelled : {false, true}) {
    for (const bool restarted : {false, true}) {
      EngineWorld world(1, OptionsWith(HourlyHalf()));
      QueueSpec spec{.nominal = {{"cpu", 3000}}, .checks = {"budget"}};
      world.Declare({{"cpu", 4000}}, {{"cpu", 64000}});
      ASSERT_TRUE(world
                      .Apply({CheckObject("budget"), UsageBased(spec), Weighty("a", "1"),
                              Weighty("b", "1")})
                      .ok());
      ASSERT_TRUE(world.ActivateCheck("budget").ok());
      const JobId reserved = Enter(&world, "reserved", "a", 1000);
      const JobId filler = Enter(&world, "filler", "queue", 2000);
      world.Run();
      ASSERT_EQ(world.StateOf(reserved), JobState::kReserved);
      EXPECT_EQ(CpuOf(world, "a"), 0) << "it is not admitted yet";
      const JobId of_a = Enter(&world, "of-a", "a", 2000);
      const JobId of_b = Enter(&world, "of-b", "b", 2000);
      if (cancelled) {
        ASSERT_TRUE(world.Do(JobVerb::kCancel, reserved).ok());
      }
      if (restarted) world.Restart();
      ASSERT_TRUE(world.Do(JobVerb::kCancel, filler).ok());
      world.Run();
      EXPECT_EQ(world.StateOf(cancelled ? of_a : of_b), JobState::kReserved)
          << cancelled << restarted;
      EXPECT_EQ(world.StateOf(cancelled ? of_b : of_a), JobState::kPending)
          << cancelled << restarted;
      if (cancelled) continue;
      ASSERT_TRUE(world.SetCheck(reserved, "budget", CheckState::kReady).ok());
      EXPECT_GT(CpuOf(world, "a"), 0) << "the penalty became history";
    }
  }
}

TEST(FairUse, ARemovedQueueIsForgotten) {
  EngineWorld world(1, OptionsWith(HourlyHalf()));
  DeclareTwo(&world, "1");
  RunFor(&world, "past-a", "a", 1);
  ASSERT_TRUE(world.Apply({Removal(ObjectKind::kLocalQueue, "default", "a")}).ok());
  EXPECT_EQ(world.Stored().fair_use.size(), 2U) << "b and queue";
  ASSERT_TRUE(world.Apply({Weighty("a", "1")}).ok());
  EXPECT_EQ(CpuOf(world, "a"), 0);
}

TEST(FairUse, WithoutTheSettingNothingIsKept) {
  EngineWorld world;
  DeclareTwo(&world, "1");
  RunFor(&world, "past-a", "a", 1);
  EXPECT_EQ(world.engine->View()->fair_uses, nullptr);
  EXPECT_TRUE(world.Stored().fair_use.empty());
}

}  // namespace
}  // namespace muster::test
