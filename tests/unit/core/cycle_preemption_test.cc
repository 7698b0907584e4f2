// Decide where room must be made: evictions, what happens to the preemptor, the rounds around them,
// gates, second passes, slices, variants and fair sharing. CheckPlan checks every plan too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/cycle/cycle_order.h"
#include "schedd/model/eviction_lifecycle.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CyclePreemptionTest : public ::testing::Test {
 protected:
  Plan Run(const CycleInput& input = Input()) {
    Snapshot snapshot = world_.Take();
    snapshot.second_pass = second_pass_;
    snapshot.pods_not_ready = pods_not_ready_;
    Plan plan = Decide(snapshot, input);
    EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
    return plan;
  }
  static std::vector<std::int64_t> Evicted(const Plan& plan) {
    std::vector<std::int64_t> ids;
    for (const auto& eviction : plan.evictions) ids.push_back(eviction.victim->id.value);
    return ids;
  }
  ClusterQueue& Queue(const char* name, std::int64_t gpus, const char* cohort = "") {
    return world_.Queue(name, cohort, {{"default", "gpu", gpus}});
  }
  JobPtr Gpus(const char* queue, std::int64_t gpus, std::int32_t priority = 0) {
    return world_.Submit(queue, 1, {{"gpu", gpus}}, priority);
  }
  void MarkVictims(const Plan& plan) {
    for (auto& job : world_.held()) {
      for (const auto& eviction : plan.evictions) {
        if (eviction.victim->id != job->id) continue;
        auto marked = std::make_shared<JobRecord>(*job);
        MarkPreempted(marked.get(), eviction.preemption_reason, "", world_.now());
        job = marked;
      }
    }
  }

  World world_;
  std::vector<JobPtr> second_pass_;
  bool pods_not_ready_ = false;
};

// Found by the simulation (seed 5603): CheckPlan stopped the daemon. Only without the victim, which
// still runs, the cohort has room for the last job of the round.
TEST_F(CyclePreemptionTest, WhatFitsOnlyWithoutTheVictimsOfTheRound_IsNotAdmittedYet) {
  Queue("a", 1, "all");
  Queue("b", 7, "all");
  Queue("c", 7, "all").preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  const JobPtr victim = world_.Hold("a", "gpu", 4);
  world_.Hold("b", "gpu", 5);
  world_.Hold("c", "gpu", 4);
  const JobPtr fits = Gpus("b", 2, 10);
  Gpus("c", 3, 5);
  Gpus("a", 1);
  const Plan plan = Run();
  EXPECT_THAT(Evicted(plan), ElementsAre(victim->id.value));
  ASSERT_EQ(plan.admits.size(), 1u);
  EXPECT_EQ(plan.admits[0].job, fits);
}

TEST_F(CyclePreemptionTest, HigherPriority_EvictsLower_AndWaitsForItWithoutSpinning) {
  Queue("q", 4).preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  const JobPtr low = world_.Hold("q", "gpu", 4);
  const JobPtr high = Gpus("q", 3, 10);
  Gpus("q", 1);
  Plan plan = Run();
  EXPECT_THAT(plan.admits, IsEmpty());
  EXPECT_THAT(Evicted(plan), ElementsAre(low->id.value));
  EXPECT_EQ(plan.evictions[0].reason, Reason::kPreempted);
  EXPECT_EQ(plan.evictions[0].preemption_reason, Reason::kInClusterQueue);
  EXPECT_EQ(plan.evictions[0].preemptor, high);
  EXPECT_TRUE(plan.more_work) << "those after it must see the eviction";
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].requeue, RequeueReason::kPendingPreemption);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForPreemptedWorkloads);
  EXPECT_EQ(plan.not_admitted[0].message,
            "couldn't assign flavors to pod set main: insufficient unused quota for gpu in flavor "
            "default, 3 more needed. Pending the preemption of 1 workload(s)");
  MarkVictims(plan);
  world_.pending().Settle(plan, world_.now());
  EXPECT_TRUE(world_.pending().HasActive());
  plan = Run();
  EXPECT_THAT(plan.evictions, IsEmpty()) << "it is on its way out already";
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_TRUE(plan.not_admitted[0].block);
  world_.pending().Settle(plan, world_.now());
  EXPECT_FALSE(world_.pending().HasActive()) << "nothing can move before the victim is gone";
  world_.held().clear();
  world_.pending().FlushAll(world_.now());
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(high->id.value, high->id.value + 1));
}

TEST_F(CyclePreemptionTest, NobodyIsEvicted_ForOneThatNoMemberCouldHoldAfterwards) {
  Queue("q", 4).preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  Queue("other", 4);
  world_.Member("east", {{"gpu", 2}});
  const auto on_east = [&](JobPtr& job) {
    auto placed = std::make_shared<JobRecord>(*job);
    placed->cluster = "east";
    job = placed;
  };
  world_.Hold("q", "gpu", 1);
  world_.Hold("other", "gpu", 1);
  for (auto& job : world_.held()) on_east(job);
  world_.clusters()[0].free = {{"gpu", 0}};
  Gpus("q", 4, 10);
  Plan plan = Run();
  EXPECT_THAT(plan.evictions, IsEmpty());
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kNoMemberCluster);
  EXPECT_EQ(plan.not_admitted[0].message,
            "member cluster east: needs 4 gpu, 1 of 2 free, even without the jobs that it would "
            "preempt");
  world_.pending().Settle(plan, world_.now());
  EXPECT_FALSE(world_.pending().HasActive());

  world_.clusters()[0].member.allocatable = {{"gpu", 5}};
  world_.clusters()[0].free = {{"gpu", 3}};
  world_.pending().FlushAll(world_.now());
  EXPECT_THAT(Evicted(Run()), ElementsAre(1)) << "with its victim gone it fits";
  world_.clusters()[0].free = {{"gpu", 2}};
  EXPECT_EQ(Run().not_admitted.at(0).reason, Reason::kWaitingForCapacity);
  auto leaving = std::make_shared<JobRecord>(*world_.held()[1]);
  MarkEvicted(leaving.get(), {"Preempted", "", ""}, world_.now());
  world_.held()[1] = leaving;
  EXPECT_THAT(Evicted(Run()), ElementsAre(1)) << "another one is on its way out, too";
}

TEST_F(CyclePreemptionTest, EvictionSentence_NamesBothPaths_OrTheMigration_OrTheNodes) {
  Queue("q", 4, "team").preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  world_.Hold("q", "gpu", 4);
  Gpus("q", 3, 10);
  Eviction eviction = Run().evictions.at(0);
  EXPECT_EQ(
      EvictionMessage(eviction, "u", ""),
      "Preempted to accommodate a workload (UID: u, JobUID: UNKNOWN) due to prioritization in "
      "the ClusterQueue; preemptor path: /team/q; preemptee path: /team/q");
  eviction.reason = Reason::kFlavorMigration;
  EXPECT_EQ(EvictionMessage(eviction, "u", ""),
            "Evicted to accommodate a workload (UID: u) due to migration to more favorable "
            "resource flavor");
  auto victim = std::make_shared<JobRecord>(*eviction.victim);
  ChangeState(victim.get(), [](AdmissionState* state) { state->unhealthy_nodes = {"x0"}; });
  eviction.victim = victim;
  eviction.reason = Reason::kNodeFailures;
  EXPECT_EQ(EvictionMessage(eviction, "", ""),
            "Workload was evicted as there was no replacement for unhealthy node(s): x0");
}

TEST_F(CyclePreemptionTest, RoundThatWouldEvict_WaitsForTheNextPlan_OnceSomethingIsAdmitted) {
  Queue("q", 4).preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  const JobPtr low = world_.Hold("q", "gpu", 2);
  Gpus("q", 1, 20);  // 2: fits
  Gpus("q", 3, 10);  // 3: needs what low and, without protection, 2 hold
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(2));
  EXPECT_THAT(plan.evictions, IsEmpty());
  EXPECT_TRUE(plan.more_work);
  EXPECT_EQ(plan.rounds, 1u);
}

TEST_F(CyclePreemptionTest, AdmittedInThisPlan_CountsAsACandidateOfLaterRounds) {
  auto& a = Queue("a", 4, "team");
  a.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  Queue("b", 0, "team");
  Gpus("b", 4);      // 1: borrows all of it in round one
  Gpus("a", 9, 50);  // 2: never fits
  Gpus("a", 4, 10);  // 3: in round two it could reclaim what 1 borrowed
  Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  EXPECT_TRUE(plan.more_work);
  world_.pending().Settle(plan, world_.now());
  auto held = std::make_shared<JobRecord>(*plan.admits[0].job);
  ReserveQuota(held.get(), plan.admits[0].admission, world_.now());
  world_.held().push_back(held);
  plan = Run();
  EXPECT_THAT(Evicted(plan), ElementsAre(1)) << "the next plan may evict it";
  EXPECT_EQ(plan.evictions[0].preemption_reason, Reason::kInCohortReclamation);
}

TEST_F(CyclePreemptionTest, SingleRound_IsOneCycle_AndBlocksNothing) {
  Queue("q", 2).strategy = QueueingStrategy::kStrictFifo;
  Gpus("q", 1);
  Gpus("q", 9);
  CycleInput input = Input();
  input.budget.rounds = 1;
  Plan plan = Run(input);
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  EXPECT_THAT(plan.not_admitted, IsEmpty()) << "the second job was not looked at";
  world_.pending().Settle(plan, world_.now());
  plan = Run(input);
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_FALSE(plan.not_admitted[0].block) << "Kueue would try it again and again";
}

TEST_F(CyclePreemptionTest, BlockedPreemptor_KeepsRoomFromOthers_UnlessItCanAlwaysReclaim) {
  auto& a = world_.Queue("a", "team", {{"default", "gpu", 4, 0}});
  Queue("b", 4, "team");
  world_.Hold("a", "gpu", 3);
  Gpus("a", 4, 10);  // 2: needs 3 more, may evict nobody: keeps the 1 that is left of a's quota
  Gpus("b", 5);      // 3: would borrow that one
  CycleInput one_cycle = Input();
  one_cycle.budget.rounds = 1;
  EXPECT_THAT(Run(one_cycle).admits, IsEmpty());
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(3)) << "for one cycle only: then 2 is parked";
  a.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  EXPECT_THAT(AdmittedIds(Run(one_cycle)), ElementsAre(3))
      << "a can take it back whenever it has to";
}

TEST_F(CyclePreemptionTest, ClosedPreemptionGate_StopsEvictions_NotAdmissions) {
  AdmissionSettings settings;
  settings.orchestrated_preemption = true;
  world_.Set(settings);
  Queue("q", 4).preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  const auto add = [&](std::int64_t gpus) {
    auto job = world_.Job("q", 10, {Pods("main", 1, {{"gpu", gpus}})});
    ChangeState(job.get(), [](AdmissionState* state) { state->preemption_gates = {{"g", false}}; });
    return world_.Add(job);
  };
  world_.Hold("q", "gpu", 3);
  add(1);
  add(3);
  const Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(2));
  world_.pending().Settle(plan, world_.now());
  const Plan gated = Run();
  ASSERT_EQ(gated.not_admitted.size(), 1u);
  EXPECT_THAT(gated.evictions, IsEmpty());
  EXPECT_TRUE(gated.not_admitted[0].preemption_gated);
  EXPECT_EQ(gated.not_admitted[0].requeue, RequeueReason::kPreemptionGated);
  EXPECT_EQ(gated.not_admitted[0].message, "Workload requires preemption, but it's gated");
}

TEST_F(CyclePreemptionTest, BlockAdmission_AdmitsOneAtATime_AndOnlyWhenAllPodsAreReady) {
  AdmissionSettings settings;
  settings.pods_ready.block_admission = true;
  world_.Set(settings);
  Queue("q", 9);
  Gpus("q", 1);
  Gpus("q", 2);
  Plan plan = Run();
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1));
  EXPECT_TRUE(plan.wait_for_pods_ready);
  pods_not_ready_ = true;
  plan = Run();
  EXPECT_THAT(plan.admits, IsEmpty());
  ASSERT_FALSE(plan.not_admitted.empty());
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kWaitingForPodsReady);
  EXPECT_EQ(plan.not_admitted[0].message,
            "waiting for all admitted workloads to be in PodsReady condition");
}

TEST_F(CyclePreemptionTest, FailedChecksAndBrokenRequests_AreNotNominated) {
  Queue("q", 9);
  auto failed = world_.Job("q", 0, {Pods("main", 1, {{"gpu", 1}})});
  ChangeState(failed.get(), [](AdmissionState* state) {
    state->checks.emplace_back();
    state->checks[0].state = CheckState::kRetry;
  });
  world_.Add(failed);
  auto broken = world_.Job("q", 0, {Pods("main", 1, {{"gpu", 2}})});
  ChangeState(broken.get(), [](AdmissionState* state) {
    state->resource_problem = "resources validation failed: ...";
  });
  world_.Add(broken);
  const Plan plan = Run();
  ASSERT_EQ(plan.not_admitted.size(), 2u);
  EXPECT_EQ(plan.not_admitted[0].reason, Reason::kPendingEvaluation);
  EXPECT_EQ(plan.not_admitted[0].message, "The workload has failed admission checks");
  EXPECT_EQ(plan.not_admitted[1].reason, Reason::kMisconfigured);
  EXPECT_EQ(plan.not_admitted[1].message, "resources validation failed: ...");
}

TEST_F(CyclePreemptionTest, GrownSlice_IsChargedTheDifference_AndReplacesTheOldOne) {
  Queue("q", 4);
  auto old = std::make_shared<JobRecord>(*world_.Hold("q", "gpu", 3));
  auto grown = world_.Job("q", 0, {Pods("main", 1, {{"gpu", 4}})});
  grown->elastic = true;
  ChangeState(grown.get(),
              [&](AdmissionState* state) { state->replaces_slice = old->ns + "/" + old->name; });
  world_.Add(grown);
  const Plan plan = Run();
  ASSERT_EQ(plan.admits.size(), 1u) << "one more fits, four more would not";
  ASSERT_NE(plan.admits[0].replaced, nullptr);
  EXPECT_EQ(plan.admits[0].replaced->id, old->id);
  const Snapshot after = Apply(world_.Take(), plan);
  EXPECT_EQ(after.usage.At(0, 0), 4);
  EXPECT_EQ(after.holders->size(), 1u);
}

TEST_F(CyclePreemptionTest, PartialAdmission_TakesWhatFits_AndChargesThat) {
  Queue("q", 10);
  auto job = world_.Job("q", 0, {Pods("main", 8, {{"gpu", 2}})});
  PodSets pod_sets = *job->pod_sets;
  pod_sets[0].min_count = 3;
  job->pod_sets = std::make_shared<const PodSets>(pod_sets);
  world_.Add(job);
  world_.Member("east", {{"gpu", 10}});
  const Plan plan = Run();
  ASSERT_EQ(plan.admits.size(), 1u);
  EXPECT_EQ(plan.admits[0].admission->pod_sets[0].count, 5);
  const Snapshot after = Apply(world_.Take(), plan);
  EXPECT_EQ(after.clusters[0].free, (ResourceList{{"gpu", 0}})) << "only the admitted pods run";
}

TEST_F(CyclePreemptionTest, FairSharing_GoesByShare_NotByTimeOrPriority) {
  AdmissionSettings settings;
  settings.fair_sharing.emplace();
  world_.Set(settings);
  Queue("a", 0, "team");
  Queue("b", 0, "team");
  world_.CohortOf("team", "", {{"default", "gpu", 4}});
  world_.Hold("a", "gpu", 2);  // 1
  Gpus("a", 1, 50);            // 2
  Gpus("b", 1);                // 3
  Gpus("b", 1);                // 4
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(3, 2)) << "the heads of both, b's share is lower";
  world_.CohortOf("team", "", {{"default", "gpu", 3}});
  EXPECT_THAT(AdmittedIds(Run()), ElementsAre(3)) << "room for one";
}

TEST(ClassicalOrderTest, QuotaHolders_ThenLevel_ThenPriority_ThenTime) {
  AdmissionSettings settings;
  const EntryRank base;
  const auto before = [&](auto change_a, auto change_b) {
    EntryRank a = base;
    EntryRank b = base;
    change_a(&a);
    change_b(&b);
    return ClassicalBefore(a, b, settings) && !ClassicalBefore(b, a, settings);
  };
  const auto nothing = [](EntryRank*) {};
  EXPECT_TRUE(before([](EntryRank* rank) { rank->holds_quota = true, rank->level = 3; }, nothing));
  EXPECT_TRUE(before([](EntryRank* rank) { rank->queue_time = {9}; },
                     [](EntryRank* rank) { rank->level = 1, rank->priority = 9; }));
  EXPECT_TRUE(before([](EntryRank* rank) { rank->priority = 1, rank->queue_time = {9}; }, nothing));
  EXPECT_TRUE(before([](EntryRank* rank) { rank->tier = 2, rank->level = 3; },
                     [](EntryRank* rank) { rank->priority = 9; }));
  EXPECT_TRUE(before(nothing, [](EntryRank* rank) { rank->preemptor = true, rank->id = 1; }));
  settings.prioritize_preemptors = true;
  EXPECT_TRUE(before([](EntryRank* rank) { rank->preemptor = true, rank->level = 1; }, nothing));
  settings.priority_sorting_within_cohort = false;
  EXPECT_TRUE(before(nothing, [](EntryRank* rank) { rank->priority = 1, rank->queue_time = {9}; }));
}

}  // namespace
}  // namespace muster::core::testing
