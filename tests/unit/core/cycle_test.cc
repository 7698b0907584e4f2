// Decide and Apply on small worlds; CheckPlan checks every plan too.
#include "schedd/core/cycle/cycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CycleTest : public ::testing::Test {
 protected:
  Plan Run(std::size_t heads = 1'000'000, std::size_t per_queue = 1000) {
    const Snapshot snapshot = world_.Take(per_queue);
    Plan plan = Decide(snapshot, Input(heads));
    EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
    return plan;
  }
  // One pod that asks for `gpus`.
  JobPtr Gpus(const char* queue, std::int64_t gpus, std::int32_t priority = 0) {
    return world_.Submit(queue, 1, {{"gpu", gpus}}, priority);
  }
  ClusterQueue& Queue(const char* name, std::int64_t gpus, const char* cohort = "") {
    return world_.Queue(name, cohort, {{"default", "gpu", gpus}});
  }

  World world_;
};

TEST_F(CycleTest, JobsAreAdmittedInOrder_UntilQuotaIsGone_ThenTheClassIsParked) {
  Queue("q", 3);
  for (int i = 0; i < 5; ++i) Gpus("q", 1);
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1, 2, 3));
  ASSERT_EQ(plan.not_admitted.size(), 1u) << "the rest of the class is not looked at";
  EXPECT_EQ(plan.not_admitted[0].job->id.value, 4);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForQuota);
  EXPECT_EQ(plan.not_admitted[0].requeue, RequeueReason::kPreemptionNoCandidates)
      << "its quota would serve it, were others not using it";
  EXPECT_FALSE(plan.not_admitted[0].block);
  EXPECT_FALSE(plan.more_work);
  EXPECT_EQ(plan.heads_evaluated, 4u);
  EXPECT_EQ(plan.admits[0].cluster, "") << "no members declared: everything fits";
}

TEST_F(CycleTest, HigherPriority_GoesFirst) {
  Queue("q", 1);
  Gpus("q", 1);
  Gpus("q", 1, 10);
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(2));
}

TEST_F(CycleTest, BestEffortFifo_LetsASmallerJobPass_StrictFifoDoesNot) {
  auto& queue = Queue("q", 4);
  Gpus("q", 3);
  Gpus("q", 3);
  Gpus("q", 1);
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(1, 3));
  queue.strategy = QueueingStrategy::kStrictFifo;
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_TRUE(plan.not_admitted[0].block);
}

TEST_F(CycleTest, Gang_IsAdmittedWhole_OrNotAtAll) {
  Queue("q", 16);
  world_.Add(
      world_.Job("q", 0, {Pods("leader", 1, {{"gpu", 1}}), Pods("worker", 4, {{"gpu", 4}})}));
  Plan plan = Run();
  EXPECT_THAT(plan.admits, IsEmpty()) << "17 are needed";
  world_.config().cluster_queues["q"].resource_groups[0].flavors[0].resources[0].second.nominal =
      17;
  plan = Run();
  ASSERT_EQ(plan.admits.size(), 1u);
  EXPECT_EQ(plan.admits[0].admission->pod_sets.size(), 2u);
  EXPECT_EQ(plan.admits[0].admission->pod_sets[1].count, 4);
}

TEST_F(CycleTest, QuotaLeftByOneQueue_IsBorrowedByAnother_OwnQuotaFirst) {
  Queue("a", 2, "team");
  Queue("b", 2, "team");
  Gpus("a", 3);  // 1: must borrow
  Gpus("b", 2);  // 2: needs no borrowing, so it goes first although it is later
  Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(2));
  EXPECT_EQ(plan.admits[0].borrowing_level, 0);
  world_.pending().Remove({2});
  plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  EXPECT_EQ(plan.admits[0].borrowing_level, 1);
}

TEST_F(CycleTest, HeadsOfOneRound_GoByPriority_ThenBySubmitTime) {
  for (const char* name : {"a", "b", "c"}) Queue(name, 1, "team");
  Gpus("a", 3);
  Gpus("b", 3, 5);
  Gpus("c", 3);
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(2));
  world_.pending().Remove({2});
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(1));
}

TEST_F(CycleTest, HeadThatLostItsQuotaInTheRound_IsTriedAgainInTheNext) {
  auto& a = world_.Queue("a", "team", {{"x", "gpu", 0}, {"y", "gpu", 4}});
  a.when_can_borrow = FungibilityPolicy::kMayStopSearch;
  world_.Queue("b", "team", {{"x", "gpu", 4}});
  Gpus("b", 4, 9);
  Gpus("a", 4);  // would borrow x, which b takes in the same round; y is its own
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1, 2));
  EXPECT_THAT(plan.not_admitted, IsEmpty());
  EXPECT_EQ(plan.admits[1].admission->pod_sets[0].flavors.at("gpu"), "y");
  EXPECT_EQ(plan.heads_evaluated, 3u);
}

TEST_F(CycleTest, BudgetSpentWhileAHeadIsToBeTriedAgain_SaysSoWithoutParkingIt) {
  world_.Queue("a", "team", {{"x", "gpu", 0}, {"y", "gpu", 4}});
  world_.Queue("b", "team", {{"x", "gpu", 4}});
  Gpus("b", 4, 9);
  Gpus("a", 4);
  const Plan plan = Run(1);
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1)) << "a round is never cut in the middle";
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].message,
            "Workload no longer fits after processing another workload");
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForQuota);
  EXPECT_EQ(plan.not_admitted[0].requeue, RequeueReason::kFailedAfterNomination);
  EXPECT_FALSE(plan.not_admitted[0].block);
  EXPECT_TRUE(plan.more_work);
}

TEST_F(CycleTest, HeadsThatTheSnapshotDoesNotShow_EndTheCycleBeforeTheOrderCouldDiffer) {
  Queue("a", 9, "team");
  Queue("b", 9, "team");
  for (int i = 0; i < 3; ++i) Gpus("a", 1);
  for (int i = 0; i < 3; ++i) Gpus("b", 1);
  const Plan plan = Run(1000, 2);
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1, 4, 2, 5));
  EXPECT_TRUE(plan.more_work);
}

TEST_F(CycleTest, Gates_GiveTheirSentences_AndParkEvenInStrictQueues) {
  auto& queue = Queue("q", 9);
  queue.strategy = QueueingStrategy::kStrictFifo;
  const auto add = [&](auto change) {
    auto job = world_.Job("q", 1, {Pods("main", 1, {{"gpu", 1}})});
    change(*job);
    return world_.Add(job);
  };
  world_.AddLocalQueue("default", "paused", "q").stop_policy = StopPolicy::kHold;
  world_.AddLocalQueue("lost", "lq-q", "q");
  world_.AddLocalQueue("dev", "lq-q", "q");
  world_.config().namespaces["dev"] = {"dev", {{"env", "dev"}}};
  queue.namespace_selector->match_labels = {{"env", "prod"}};
  add([](JobRecord& job) { job.local_queue = "paused"; });
  add([](JobRecord& job) { job.local_queue = "none"; });
  add([](JobRecord& job) { job.ns = "lost"; });
  add([](JobRecord& job) { job.ns = "dev"; });
  Gpus("q", 1);
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(5)) << "what a gate keeps out does not block";
  ASSERT_EQ(plan.not_admitted.size(), 4u);
  const std::pair<Reason, std::string> kExpected[] = {
      {Reason::kSuspended, "LocalQueue paused is inactive"},
      {Reason::kMisconfigured, "LocalQueue none doesn't exist"},
      {Reason::kMisconfigured, "workload namespace \"lost\" does not exist"},
      {Reason::kMisconfigured, "workload namespace doesn't match ClusterQueue selector"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.not_admitted[i].reason, kExpected[i].first);
    EXPECT_EQ(plan.not_admitted[i].message, kExpected[i].second);
    EXPECT_EQ(plan.not_admitted[i].requeue,
              i == 3 ? RequeueReason::kNamespaceMismatch : RequeueReason::kGated);
  }
}

TEST_F(CycleTest, InactiveClusterQueues_AdmitNothing_AndSayWhy) {
  auto& queue = Queue("q", 9);
  Gpus("q", 1);
  const auto sentence = [&] {
    const Plan plan = Run();
    EXPECT_THAT(plan.admits, IsEmpty());
    return plan.not_admitted.empty() ? "" : plan.not_admitted[0].message;
  };
  queue.stop_policy = StopPolicy::kHoldAndDrain;
  EXPECT_EQ(sentence(), "ClusterQueue q is stopped");
  queue.stop_policy = StopPolicy::kNone;
  queue.resource_groups.push_back(Group({{"y", "fpga", 1}, {"x", "fpga", 1}}));
  EXPECT_EQ(sentence(), "ClusterQueue q is inactive: references missing ResourceFlavor(s): y,x");
  queue.resource_groups.pop_back();
  queue.cohort = "loop";
  world_.CohortOf("loop", "loop");
  EXPECT_EQ(sentence(), "ClusterQueue q is inactive: its cohorts form a cycle");
  queue.cohort = "";
  queue.namespace_selector.reset();
  EXPECT_EQ(sentence(), "workload namespace doesn't match ClusterQueue selector")
      << "an absent selector matches nothing";
  world_.config().cluster_queues.clear();
  EXPECT_EQ(sentence(), "ClusterQueue q doesn't exist");
}

TEST_F(CycleTest, NamespaceNameLabel_IsThereAsKubernetesSetsIt) {
  auto& queue = Queue("q", 9);
  Gpus("q", 1);
  queue.namespace_selector->match_expressions = {
      {"kubernetes.io/metadata.name", "In", {"default"}}};
  EXPECT_EQ(Run().admits.size(), 1u);
  world_.config().namespaces.clear();
  EXPECT_EQ(Run().admits.size(), 1u) << "the default namespace always exists";
}

TEST_F(CycleTest, JobWithQuotaButWithoutRoom_IsNotCharged_AndOthersPass) {
  Queue("q", 100);
  world_.Member("east", {{"gpu", 16}});
  world_.Member("west", {{"gpu", 8}});
  Gpus("q", 14);
  Gpus("q", 10);  // 2: quota yes, room no
  Gpus("q", 17);  // 3: never
  Gpus("q", 8);   // 4
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1, 4));
  EXPECT_EQ(plan.admits[0].cluster, "east");
  EXPECT_EQ(plan.admits[1].cluster, "west");
  ASSERT_EQ(plan.not_admitted.size(), 2u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(
      plan.not_admitted[0].message,
      "member cluster east: needs 10 gpu, 2 of 16 free; member cluster west: needs 10 gpu, 8 of "
      "8 free");
  EXPECT_EQ(plan.not_admitted[1].reason, Reason::kNoMemberCluster);
  const Snapshot after = Apply(world_.Take(), plan);
  EXPECT_EQ(after.usage.At(0, 0), 22) << "only what was placed is charged";
  EXPECT_EQ(after.clusters[0].free, (ResourceList{{"gpu", 2}}));
  EXPECT_EQ(after.clusters[1].free, (ResourceList{{"gpu", 0}}));
  EXPECT_THAT(after.heads, IsEmpty());
}

TEST_F(CycleTest, JobThatLacksRoomOnItsFirstFlavor_SaysSo_WhateverTheOthersLack) {
  world_.Member("east", {{"gpu", 16}});
  world_.clusters()[0].free = {{"gpu", 1}};
  for (const bool strict : {false, true}) {
    auto& queue = world_.Queue("q", "", {{"good", "gpu", 100}, {"poor", "gpu", 1}});
    queue.strategy = strict ? QueueingStrategy::kStrictFifo : QueueingStrategy::kBestEffortFifo;
    if (!strict) Gpus("q", 2);
    const Plan plan = Run();
    ASSERT_EQ(plan.not_admitted.size(), 1u);
    EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForCapacity);
    EXPECT_EQ(plan.not_admitted[0].message,
              "member cluster east: needs 2 gpu, 1 of 16 free; couldn't assign flavors to pod set "
              "main: insufficient quota for gpu in flavor poor, previously considered podsets "
              "requests (0) + current podset request (2) > maximum capacity (1)")
        << (strict ? "strict" : "best effort");
  }
}

TEST_F(CycleTest, StrictHeadThatLacksRoom_BlocksToo) {
  Queue("q", 100).strategy = QueueingStrategy::kStrictFifo;
  world_.Member("east", {{"gpu", 16}});
  Gpus("q", 10);
  Gpus("q", 10);
  Gpus("q", 1);
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_TRUE(plan.not_admitted[0].block);
}

TEST_F(CycleTest, EqualJobsOverEqualMembers_FillBothEvenly) {
  Queue("q", 100);
  world_.Member("east", {{"gpu", 8}});
  world_.Member("west", {{"gpu", 8}});
  for (int i = 0; i < 8; ++i) Gpus("q", 1);
  std::map<std::string, int> count;
  for (const auto& admit : Run().admits) ++count[admit.cluster];
  EXPECT_EQ(count["east"], 4);
  EXPECT_EQ(count["west"], 4);
}

TEST_F(CycleTest, SettleAfterEveryPlan_LeavesNothingToSpinOn) {
  Queue("q", 2).strategy = QueueingStrategy::kStrictFifo;
  Queue("r", 2);
  for (int i = 0; i < 4; ++i) Gpus("q", 1);
  for (int i = 0; i < 4; ++i) Gpus("r", 1);
  Usage usage = world_.EmptyUsage();
  int cycles = 0;
  while (world_.pending().HasActive() && cycles < 20) {
    const Snapshot snapshot = world_.Take(2);
    const Plan plan = Decide(snapshot, Input(3));
    world_.pending().Settle(plan, world_.now());
    for (const auto& admit : plan.admits) usage.Add(*admit.admission);
    world_.Use(usage);
    ++cycles;
  }
  EXPECT_LT(cycles, 20);
  EXPECT_EQ(world_.pending().size(), 4u);
}

TEST_F(CycleTest, JobsOfOneClass_ShareTheirAdmission) {
  Queue("q", 10);
  Gpus("q", 1);
  Gpus("q", 1);
  const Plan plan = Run();
  ASSERT_EQ(plan.admits.size(), 2u);
  EXPECT_EQ(plan.admits[0].admission, plan.admits[1].admission);
}

TEST_F(CycleTest, EmptySnapshot_GivesAnEmptyPlan) {
  const Plan plan = Run();
  EXPECT_TRUE(plan.empty());
  EXPECT_FALSE(plan.more_work);
}

}  // namespace
}  // namespace muster::core::testing
