// A batch script of several partitions (`-p a,b`, rule B29) starts in the first that can start it.
#include <gtest/gtest.h>

#include "tests/unit/engine/batch_world.h"

namespace muster::test {
namespace {

class PartitionEntriesTest : public ::testing::Test {
 protected:
  // Partitions a and b with a ClusterQueue each, of 2 cpus; `other` feeds that of a too.
  PartitionEntriesTest() {
    const ResourceList quota = {{"cpu", 2000}};
    Apply({NamespaceObject("default"), FlavorObject("default"), PriorityClassObject("high", 100),
           ClusterQueueObject({.name = "cqa", .nominal = quota, .within = "LowerPriority"}),
           ClusterQueueObject({.name = "cqb", .nominal = quota, .within = "LowerPriority"}),
           LocalQueueObject("a", "cqa"), LocalQueueObject("b", "cqb"),
           LocalQueueObject("other", "cqa"), MemberObject("east", {{"cpu", 64'000}})});
  }
  void Apply(std::vector<ObjectChange> changes) {
    ASSERT_TRUE(world.Apply(std::move(changes)).ok());
    world.Run();
  }
  JobId Submit(const std::string& name, const std::string& queue, const std::string& partitions,
               std::int32_t priority = 0) {
    const JobId id = SubmitScript(
        &world, {.job = {.name = name,
                         .queue = queue,
                         .cluster_queue = queue == "b" ? "cqb" : "cqa",
                         .pods = {{2}},
                         .priority = priority},
                 .batch = DetailsWith([&](auto& details) { details.partitions = partitions; })});
    world.Run();
    return id;
  }
  void Cancel(JobId id) {
    ASSERT_TRUE(world.Do(JobVerb::kCancel, id).ok());
    world.Run();
  }
  bool Runs(JobId id) const { return world.StateOf(id) == JobState::kRunning; }
  std::string QueueOf(JobId id) const { return world.Job(id)->local_queue; }

  EngineWorld world;
};

TEST_F(PartitionEntriesTest, BothAreFree_ItStartsInTheFirst_AndHoldsQuotaOnce) {
  const JobId id = Submit("job", "a", "a,b");
  ASSERT_TRUE(Runs(id));
  EXPECT_EQ(QueueOf(id), "a");
  EXPECT_EQ(world.UsedCpu("cqa"), 2000);
  EXPECT_EQ(world.UsedCpu("cqb"), 0);
}

TEST_F(PartitionEntriesTest, TheFirstIsFull_ItStartsInTheOther_AlsoAfterARestart) {
  Submit("fills", "a", "");
  const JobId id = Submit("job", "a", "a,b");
  ASSERT_TRUE(Runs(id));
  EXPECT_EQ(QueueOf(id), "b");
  EXPECT_EQ(world.UsedCpu("cqb"), 2000);
  world.Restart();
  world.Run();
  EXPECT_EQ(QueueOf(id), "b");
  EXPECT_EQ(world.Job(id)->cluster_queue, "cqb");
  EXPECT_EQ(world.UsedCpu("cqb"), 2000);
}

TEST_F(PartitionEntriesTest, BothAreFull_TheOneThatComesFreeGetsIt) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    const JobId in_a = Submit("a" + std::to_string(first), "a", "");
    const JobId in_b = Submit("b" + std::to_string(first), "b", "");
    const JobId id = Submit("job" + std::to_string(first), "a", "a,b");
    EXPECT_EQ(world.StateOf(id), JobState::kPending);
    EXPECT_EQ(world.Job(id)->reason, Reason::kWaitingForQuota);
    world.Restart();
    world.Run();
    Cancel(first ? in_a : in_b);
    ASSERT_TRUE(Runs(id));
    EXPECT_EQ(QueueOf(id), first ? "a" : "b");
    Cancel(first ? in_b : in_a);
    EXPECT_EQ(world.UsedCpu("cqa") + world.UsedCpu("cqb"), 2000);
    Cancel(id);
    EXPECT_EQ(world.UsedCpu("cqa") + world.UsedCpu("cqb"), 0);
  }
}

TEST_F(PartitionEntriesTest, APartitionThatIsDown_IsNotTried_UntilItIsUp) {
  Apply({WithAnnotation(LocalQueueObject("b", "cqb"), "muster.io/partition-state", "down")});
  Submit("fills", "a", "");
  const JobId id = Submit("job", "a", "a,b");
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  Apply({LocalQueueObject("b", "cqb")});
  EXPECT_TRUE(Runs(id));
  EXPECT_EQ(QueueOf(id), "b");
}

TEST_F(PartitionEntriesTest, AHigherTier_GoesFirst_WhateverThePrioritiesAre_AlsoAfterAnEdit) {
  const auto with_tier = [](const char* name, const char* tier) {
    return WithAnnotation(LocalQueueObject(name, "cqa"), "muster.io/partition-tier", tier);
  };
  // Without preemption, by which the higher priority would take the place of the other one.
  Apply({with_tier("other", "5"),
         ClusterQueueObject({.name = "cqa", .nominal = {{"cpu", 2000}}})});
  const JobId fills = Submit("fills", "a", "");
  const JobId urgent = Submit("urgent", "a", "", 0);
  const JobId tiered = Submit("tiered", "other", "", -5);
  Cancel(fills);
  EXPECT_TRUE(Runs(tiered)) << "it came last and has the lower priority";
  EXPECT_FALSE(Runs(urgent));
  const JobId next = Submit("next", "other", "", 0);
  Apply({with_tier("a", "9")});
  Cancel(tiered);
  EXPECT_TRUE(Runs(urgent));
  EXPECT_FALSE(Runs(next));
  Apply({with_tier("a", "1"), with_tier("other", "1")});
  const JobId equal = Submit("equal", "a", "", 0);
  Cancel(urgent);
  EXPECT_TRUE(Runs(next)) << "of one tier the earlier one goes first";
  EXPECT_FALSE(Runs(equal));
}

TEST_F(PartitionEntriesTest, AHeldScript_StartsNowhere) {
  Submit("fills", "a", "");
  const JobId id = SubmitScript(
      &world, {.job = {.queue = "a", .cluster_queue = "cqa", .held = true},
               .batch = DetailsWith([](auto& details) { details.partitions = "a,b"; })});
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kHeld);
  EXPECT_EQ(world.UsedCpu("cqb"), 0);
}

TEST_F(PartitionEntriesTest, AnUpdateOfThePartition_LeavesOneAlone) {
  Submit("fills", "a", "");
  const JobId in_b = Submit("fillsb", "b", "");
  const JobId id = Submit("job", "a", "a,b");
  JobUpdate update;
  update.queue = "other";
  update.cluster_queue = "cqa";
  ASSERT_TRUE(Update(&world, id, update).ok());
  Cancel(in_b);
  EXPECT_EQ(world.StateOf(id), JobState::kPending);
  EXPECT_EQ(QueueOf(id), "other");
}

// One cycle admits the job in both partitions; what it does not take there is for the next one.
TEST_F(PartitionEntriesTest, BothComeUpAtOnce_TheOneThatItDoesNotTakeIsFreeForOthers) {
  const auto down = [](const ObjectChange& queue) {
    return WithAnnotation(queue, "muster.io/partition-state", "down");
  };
  Apply({down(LocalQueueObject("a", "cqa")), down(LocalQueueObject("b", "cqb"))});
  const JobId id = Submit("job", "a", "a,b");
  const JobId other = Submit("other", "b", "");
  Apply({LocalQueueObject("a", "cqa"), LocalQueueObject("b", "cqb")});
  EXPECT_TRUE(Runs(id));
  EXPECT_EQ(QueueOf(id), "a");
  EXPECT_TRUE(Runs(other));
}

TEST_F(PartitionEntriesTest, AJobThatIsParkedWithAnEntry_GetsTheEntrysReason) {
  Submit("fills", "b", "");
  Submit("fills-a", "a", "");
  Submit("job", "a", "a,b");
  const JobId other = Submit("other", "b", "");
  EXPECT_EQ(world.Job(other)->reason, Reason::kWaitingForQuota);
}

TEST_F(PartitionEntriesTest, ItPreemptsInOnePartitionAtATime) {
  const JobId in_a = Submit("low-a", "a", "");
  const JobId in_b = Submit("low-b", "b", "");
  const JobId id = Submit("job", "a", "a,b", 100);
  EXPECT_TRUE(Runs(id));
  EXPECT_EQ(QueueOf(id), "a");
  EXPECT_EQ(world.StateOf(in_a), JobState::kPending);
  EXPECT_TRUE(Runs(in_b));
}

}  // namespace
}  // namespace muster::test
