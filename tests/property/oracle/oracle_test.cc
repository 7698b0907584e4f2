// The oracle against examples worked out by hand from rules A12 to A41.
#include "tests/property/oracle/oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/property/oracle/random_world.h"

namespace muster::oracle {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A world of one resource, whose flavors and queues are added by name.
struct Build {
  World world;

  Build() { world.resources = {"gpu"}; }

  int Flavor(const std::string& name) {
    world.flavors.push_back({name, {}, ""});
    return static_cast<int>(world.flavors.size()) - 1;
  }
  int Cohort(int parent, Limits limits = {}, double weight = 1) {
    Place cohort;
    cohort.name = "cohort-" + std::to_string(world.cohorts.size());
    cohort.cohort = parent;
    cohort.weight = weight;
    cohort.quotas[0] = limits;
    world.cohorts.push_back(cohort);
    return static_cast<int>(world.cohorts.size()) - 1;
  }
  // A queue with one group of the flavors 0, 1, ... and these limits.
  Queue& QueueOf(int cohort, const std::vector<Limits>& limits) {
    Queue queue;
    queue.name = "queue-" + std::to_string(world.queues.size());
    queue.cohort = cohort;
    Group group{{0}, {}};
    for (std::size_t i = 0; i < limits.size(); ++i) {
      group.flavors.push_back(static_cast<int>(i));
      queue.quotas[world.Pair(static_cast<int>(i), 0)] = limits[i];
    }
    queue.groups = {group};
    world.queues.push_back(queue);
    return world.queues.back();
  }
  // A workload of one pod; created in the order of the calls.
  int Job(int queue, Amount gpus, int priority = 0) {
    Workload of;
    of.name = "w" + std::to_string(world.workloads.size());
    of.queue = queue;
    of.priority = priority;
    of.created = static_cast<int>(world.workloads.size());
    of.pods = {Pods{1, {}, {{0, gpus}}, {}, {}}};
    world.workloads.push_back(of);
    return static_cast<int>(world.workloads.size()) - 1;
  }
  int Running(int queue, Amount gpus, int priority = 0, int flavor = 0) {
    const int job = Job(queue, gpus, priority);
    world.workloads.back().holding = Holding{{1}, {{{0, flavor}}}, 100 + job};
    return job;
  }
  Decisions Cycle() {
    if (world.cycle == 0) Enqueue(&world);
    return RunCycle(&world);
  }
};

std::vector<int> AdmittedOf(const Decisions& decisions) {
  std::vector<int> admitted;
  for (const auto& of : decisions.admitted) admitted.push_back(of.workload);
  return admitted;
}

std::vector<int> EvictedOf(const Decisions& decisions) {
  std::vector<int> evicted;
  for (const auto& of : decisions.evicted) {
    if (!of.already) evicted.push_back(of.victim.workload);
  }
  return evicted;
}

Requeue RequeueOf(const Decisions& decisions, int workload) {
  for (const auto& of : decisions.waiting) {
    if (of.workload == workload) return of.requeue;
  }
  ADD_FAILURE() << "workload " << workload << " does not wait";
  return Requeue::kGated;
}

TEST(OracleSums, LendingLimitKeepsAPartAtHome_BorrowingLimitCapsTheRest) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1, {.nominal = 2});
  build.QueueOf(root, {{.nominal = 10, .lending = 4}});
  build.QueueOf(root, {{.nominal = 1, .borrowing = 3}});
  build.QueueOf(root, {{.nominal = 1}});
  build.Running(0, 7);
  const Ledger ledger = LedgerOf(build.world);
  const Sums sums(build.world, ledger);
  EXPECT_EQ(sums.Local(0, 0), 6);
  EXPECT_EQ(sums.Subtree(3, 0), 2 + 4 + 1 + 1);
  EXPECT_EQ(sums.Used(3, 0), 1) << "only what is beyond the six kept at home";
  EXPECT_EQ(sums.Available(0, 0), 7);
  EXPECT_EQ(sums.Available(1, 0), 4) << "one of its own and three borrowed";
  EXPECT_EQ(sums.Available(2, 0), 7);
  EXPECT_EQ(sums.Potential(0, 0), 14);
  EXPECT_EQ(sums.Potential(1, 0), 4);
}

TEST(OracleSums, BorrowingLevelIsTheHeightOfTheFirstCohortThatHasEnough) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1, {.nominal = 20});
  const int inner = build.Cohort(root, {.nominal = 3});
  build.QueueOf(inner, {{.nominal = 2}});
  const Ledger none;
  const Sums sums(build.world, none);
  EXPECT_EQ(sums.BorrowingLevel(0, 0, 2).height, 0);
  EXPECT_TRUE(sums.BorrowingLevel(0, 0, 2).proper_subtree);
  EXPECT_EQ(sums.BorrowingLevel(0, 0, 5).height, 1);
  EXPECT_TRUE(sums.BorrowingLevel(0, 0, 5).proper_subtree);
  EXPECT_EQ(sums.BorrowingLevel(0, 0, 6).height, 2);
  EXPECT_FALSE(sums.BorrowingLevel(0, 0, 6).proper_subtree);
}

TEST(OracleSums, DominantShareIsBorrowedOverLendableByWeight) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1);
  build.QueueOf(root, {{.nominal = 2}}).weight = 2;
  build.QueueOf(root, {{.nominal = 8}}).weight = 0;
  build.Running(0, 5);
  const Ledger ledger = LedgerOf(build.world);
  const Sums sums(build.world, ledger);
  EXPECT_DOUBLE_EQ(sums.DominantShare(0).weighted, 3 * 1000.0 / 10 / 2);
  EXPECT_FALSE(sums.DominantShare(1).infinite) << "weight 0 is infinite only while it borrows";
  Ledger more = ledger;
  more.push_back({1, -1, {9}, false});
  EXPECT_TRUE(Sums(build.world, more).DominantShare(1).infinite);
}

TEST(OracleQueues, StrictHeadBlocks_BestEffortHeadIsParked) {
  for (const bool strict : {true, false}) {
    Build build;
    build.Flavor("one");
    build.QueueOf(-1, {{.nominal = 4}}).strict = strict;
    const int big = build.Job(0, 9);
    const int small = build.Job(0, 1);
    EXPECT_THAT(AdmittedOf(build.Cycle()), IsEmpty());
    EXPECT_EQ(IsActive(build.world, big), strict);
    const Decisions second = build.Cycle();
    if (strict) {
      EXPECT_THAT(AdmittedOf(second), IsEmpty());
    } else {
      EXPECT_THAT(AdmittedOf(second), ElementsAre(small));
    }
  }
}

TEST(OracleQueues, WhatDoesNotFitParksItsEqualsUntilAFlush) {
  Build build;
  build.Flavor("one");
  build.QueueOf(-1, {{.nominal = 4}});
  const int running = build.Running(0, 3);
  build.Job(0, 2);
  const int equal = build.Job(0, 2);
  const int other = build.Job(0, 3);
  EXPECT_EQ(RequeueOf(build.Cycle(), 1), Requeue::kNoCandidates);
  EXPECT_FALSE(IsActive(build.world, equal));
  EXPECT_TRUE(IsActive(build.world, other));
  Finish(&build.world, running);
  EXPECT_TRUE(IsActive(build.world, equal));
  EXPECT_THAT(AdmittedOf(build.Cycle()), ElementsAre(1));
}

TEST(OracleQueues, AWaitingPreemptorStaysAheadOfAHigherPriority) {
  Build build;
  build.Flavor("one");
  build.QueueOf(-1, {{.nominal = 4}}).within = EvictPolicy::kLower;
  const int victim = build.Running(0, 4);
  const int preemptor = build.Job(0, 4, 1);
  EXPECT_THAT(EvictedOf(build.Cycle()), ElementsAre(victim));
  const int higher = build.Job(0, 4, 2);
  build.world.queues[0].active.insert(higher);
  EXPECT_THAT(EvictedOf(build.Cycle()), IsEmpty()) << "its victim is being evicted already";
  EXPECT_THAT(AdmittedOf(build.Cycle()), IsEmpty()) << "the victim holds quota until it stops";
  FinishEvictions(&build.world);
  EXPECT_THAT(AdmittedOf(build.Cycle()), ElementsAre(preemptor));
  EXPECT_THAT(EvictedOf(build.Cycle()), ElementsAre(preemptor)) << "now the higher one's turn";
}

TEST(OracleFlavors, StopRulesAndPreferenceChooseTheFlavor) {
  struct Case {
    const char* name;
    bool stops_at_borrow, stops_at_preempt, preempt_before_borrow;
    int flavor;
    bool evicts;
  };
  const Case cases[] = {
      {"borrows in the first flavor if it may stop there", true, false, false, 0, false},
      {"goes on to a flavor that fits without borrowing", false, false, false, 2, false},
      {"evicts in the second flavor if that stops it first", false, true, false, 1, true},
      {"nothing is better than fitting without borrowing", false, false, true, 2, false},
  };
  for (const Case& of : cases) {
    SCOPED_TRACE(of.name);
    Build build;
    for (const char* name : {"one", "two", "three"}) build.Flavor(name);
    const int root = build.Cohort(-1);
    Queue& queue = build.QueueOf(root, {{.nominal = 1}, {.nominal = 4}, {.nominal = 4}});
    queue.stops_at_borrow = of.stops_at_borrow;
    queue.stops_at_preempt = of.stops_at_preempt;
    queue.preempt_before_borrow = of.preempt_before_borrow;
    queue.within = EvictPolicy::kLower;
    build.QueueOf(root, {{.nominal = 8}});
    const int victim = build.Running(0, 4, 0, 1);
    build.Job(0, 4, 1);
    const Decisions decisions = build.Cycle();
    if (of.evicts) {
      EXPECT_THAT(EvictedOf(decisions), ElementsAre(victim));
    } else {
      ASSERT_EQ(decisions.admitted.size(), 1u);
      EXPECT_EQ(decisions.admitted[0].holding.flavors[0].at(0), of.flavor);
    }
  }
}

TEST(OracleFlavors, PreferenceDecidesBetweenBorrowingAndPreempting) {
  for (const bool preempt_first : {false, true}) {
    Build build;
    build.Flavor("one");
    build.Flavor("two");
    const int root = build.Cohort(-1);
    Queue& queue = build.QueueOf(root, {{.nominal = 4}, {.nominal = 0}});
    queue.stops_at_borrow = false;
    queue.preempt_before_borrow = preempt_first;
    queue.within = EvictPolicy::kLower;
    build.QueueOf(root, {{.nominal = 0}, {.nominal = 4}});
    const int victim = build.Running(0, 4);
    const int job = build.Job(0, 4, 1);
    const Decisions decisions = build.Cycle();
    if (preempt_first) {
      EXPECT_THAT(EvictedOf(decisions), ElementsAre(victim));
    } else {
      EXPECT_THAT(AdmittedOf(decisions), ElementsAre(job));
    }
  }
}

TEST(OracleFlavors, NoCandidatesIsWorseThanAnyBorrowingThatFits) {
  EXPECT_TRUE(Better({Mode::kFit, 2}, {Mode::kNoCandidates, 1}, true));
  EXPECT_FALSE(Better({Mode::kNoCandidates, 0}, {Mode::kReclaim, 2}, true));
  EXPECT_TRUE(Better({Mode::kNoCandidates, 1}, {Mode::kNoFit, 0}, false));
  EXPECT_TRUE(Better({Mode::kNoCandidates, 1}, {Mode::kNoCandidates, 2}, true));
  EXPECT_TRUE(Better({Mode::kPreempt, 0}, {Mode::kFit, 1}, true));
  EXPECT_FALSE(Better({Mode::kPreempt, 0}, {Mode::kFit, 1}, false));
  EXPECT_FALSE(Better({Mode::kNoFit, 0}, {Mode::kNoFit, 1}, false));
}

TEST(OracleFlavors, ASkippedHeadGoesOnWithTheNextFlavor) {
  Build build;
  build.Flavor("one");
  build.Flavor("two");
  const int root = build.Cohort(-1, {.nominal = 4});
  for (int i = 0; i < 2; ++i) build.QueueOf(root, {{.nominal = 0}, {.nominal = 4}});
  const int first = build.Job(0, 4);
  const int second = build.Job(1, 4);
  const Decisions decisions = build.Cycle();
  EXPECT_THAT(AdmittedOf(decisions), ElementsAre(first));
  EXPECT_EQ(RequeueOf(decisions, second), Requeue::kFailedAfterNomination);
  Finish(&build.world, first);
  const Decisions next = build.Cycle();
  ASSERT_THAT(AdmittedOf(next), ElementsAre(second));
  EXPECT_EQ(next.admitted[0].holding.flavors[0].at(0), 1) << "although flavor one is free again";
}

TEST(OracleFlavors, PartialAdmissionFindsTheLargestCountThatFits) {
  Build build;
  build.Flavor("one");
  build.QueueOf(-1, {{.nominal = 7}});
  build.Job(0, 2);
  build.world.workloads[0].pods[0].count = 6;
  build.world.workloads[0].pods[0].min_count = 1;
  const Decisions decisions = build.Cycle();
  ASSERT_EQ(decisions.admitted.size(), 1u);
  EXPECT_THAT(decisions.admitted[0].holding.counts, ElementsAre(3));
}

TEST(OracleFlavors, SelectorCountsOnlyKeysThatTheFlavorItselfHas) {
  Build build;
  for (const char* kind : {"a", "b"}) {
    build.Flavor(kind);
    build.world.flavors.back().labels["kind"] = kind;
  }
  build.QueueOf(-1, {{.nominal = 9}, {.nominal = 9}});
  build.Job(0, 1);
  build.world.workloads[0].pods[0].selector = {{"kind", "b"}, {"zone", "x"}};
  const Decisions decisions = build.Cycle();
  ASSERT_EQ(decisions.admitted.size(), 1u);
  EXPECT_EQ(decisions.admitted[0].holding.flavors[0].at(0), 1);
}

TEST(OracleClassical, FillBackSparesWhatTheLastVictimMadeUnnecessary) {
  Build build;
  build.Flavor("one");
  build.QueueOf(-1, {{.nominal = 6}}).within = EvictPolicy::kLower;
  build.Running(0, 1, 0);
  const int big = build.Running(0, 5, 1);
  build.Job(0, 5, 2);
  EXPECT_THAT(EvictedOf(build.Cycle()), ElementsAre(big)) << "the lower one comes back";
}

TEST(OracleClassical, ReclaimTakesOnlyFromThoseThatBorrow) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1);
  build.QueueOf(root, {{.nominal = 4}}).reclaim = EvictPolicy::kAny;
  build.QueueOf(root, {{.nominal = 4}});
  build.QueueOf(root, {{.nominal = 2}});
  build.Running(1, 4, 0);  // within nominal
  build.Running(2, 2, 5);
  const int borrower = build.Running(2, 3, 5);
  build.Job(0, 4);
  const Decisions decisions = build.Cycle();
  EXPECT_THAT(EvictedOf(decisions), ElementsAre(borrower));
  EXPECT_EQ(decisions.evicted[0].victim.cause, Cause::kReclamation);
}

TEST(OracleClassical, BorrowingPreemptorSparesCandidatesAboveTheThreshold) {
  for (const int threshold : {0, 1}) {
    Build build;
    build.Flavor("one");
    const int root = build.Cohort(-1, {.nominal = 4});
    Queue& queue = build.QueueOf(root, {{.nominal = 0}});
    queue.reclaim = EvictPolicy::kLower;
    queue.borrow_while_preempting = true;
    queue.threshold = threshold;
    build.QueueOf(root, {{.nominal = 0}});
    const int borrower = build.Running(1, 4, 1);
    build.Job(0, 4, 2);
    const Decisions decisions = build.Cycle();
    if (threshold == 0) {
      EXPECT_THAT(EvictedOf(decisions), IsEmpty());
    } else {
      ASSERT_THAT(EvictedOf(decisions), ElementsAre(borrower));
      EXPECT_EQ(decisions.evicted[0].victim.cause, Cause::kReclaimWhileBorrowing);
    }
  }
}

TEST(OracleClassical, HierarchicalAdvantageReclaimsForTheSubtreeThatHasTheQuota) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1);
  const int left = build.Cohort(root, {.nominal = 4});
  const int right = build.Cohort(root);
  build.QueueOf(left, {{.nominal = 0}}).reclaim = EvictPolicy::kAny;
  build.QueueOf(right, {{.nominal = 0}});
  const int borrower = build.Running(1, 4, 9);
  build.Job(0, 4);
  const Decisions decisions = build.Cycle();
  ASSERT_THAT(EvictedOf(decisions), ElementsAre(borrower)) << "its cohort's quota is lent out";
  EXPECT_EQ(decisions.evicted[0].victim.cause, Cause::kReclamation);
}

TEST(OracleFair, StrategiesDisagreeWhenTheSharesWouldSwap) {
  // Both own nothing of the root's 10, of which B uses 4 and 6; its 6 is the better victim. A
  // asking for 4 comes to share 400, which is B's share without the 6. A asking for 5 comes to 500,
  // more than those 400 but less than B's present 1000.
  struct Case {
    Strategy strategy;
    Amount asks;
    bool evicts;
  };
  for (const Case& of :
       {Case{Strategy::kFinalShare, 4, true}, Case{Strategy::kInitialShare, 4, true},
        Case{Strategy::kFinalShare, 5, false}, Case{Strategy::kInitialShare, 5, true}}) {
    Build build;
    build.world.settings.fair = true;
    build.world.settings.strategies = {of.strategy};
    build.Flavor("one");
    const int root = build.Cohort(-1, {.nominal = 10});
    build.QueueOf(root, {{.nominal = 0}}).reclaim = EvictPolicy::kAny;
    build.QueueOf(root, {{.nominal = 0}});
    build.Running(1, 4);
    build.Running(1, 6);
    build.Job(0, of.asks);
    const Decisions decisions = build.Cycle();
    EXPECT_EQ(!EvictedOf(decisions).empty(), of.evicts) << of.asks;
    for (const auto& evicted : decisions.evicted) {
      EXPECT_EQ(evicted.victim.cause, Cause::kFairSharing);
    }
  }
}

TEST(OracleFair, NominalQuotaIsReclaimedWhateverTheShares) {
  for (const bool gate : {true, false}) {
    Build build;
    build.world.settings.fair = true;
    build.world.settings.strategies = {Strategy::kInitialShare};
    build.world.settings.preempt_within_nominal = gate;
    build.Flavor("one");
    const int root = build.Cohort(-1);
    // The preemptor stays inside its nominal quota, but the cohort above it borrows as much as the
    // other side's does.
    const int left = build.Cohort(root);
    const int right = build.Cohort(root);
    build.QueueOf(left, {{.nominal = 4}}).reclaim = EvictPolicy::kAny;
    build.QueueOf(left, {{.nominal = 0}});
    build.QueueOf(right, {{.nominal = 0}});
    build.QueueOf(root, {{.nominal = 4}});
    build.Running(1, 4);
    const int borrower = build.Running(2, 4);
    build.Job(0, 4);
    const Decisions decisions = build.Cycle();
    if (gate) {
      ASSERT_EQ(EvictedOf(decisions).size(), 1u);
      EXPECT_EQ(decisions.evicted[0].victim.cause, Cause::kReclamation);
    } else {
      EXPECT_THAT(EvictedOf(decisions), ::testing::Not(ElementsAre(borrower)));
    }
  }
}

TEST(OracleFair, TheTournamentAdmitsWhoBorrowsNothingFirst) {
  for (const bool gate : {true, false}) {
    Build build;
    build.world.settings.fair = true;
    build.world.settings.prioritize_non_borrowing = gate;
    build.world.resources = {"gpu", "cpu"};
    build.Flavor("one");
    const int root = build.Cohort(-1, {.nominal = 4});
    build.world.cohorts[0].quotas[1] = {.nominal = 8};
    // The first borrows 3 cpus and stays within its gpus; the second borrows 1 gpu.
    for (const Amount own : {2, 0}) build.QueueOf(root, {{.nominal = own}}).quotas[1] = {};
    for (Queue& queue : build.world.queues) queue.groups[0].resources = {0, 1};
    const int cpus = build.Running(0, 0);
    build.world.workloads[0].pods[0].requests = {{1, 8}};
    build.world.workloads[0].holding->flavors = {{{1, 0}}};
    const int within = build.Job(0, 2);
    const int borrower = build.Job(1, 1);
    const Decisions decisions = build.Cycle();
    if (gate) {
      EXPECT_THAT(AdmittedOf(decisions), ElementsAre(within, borrower)) << cpus;
    } else {
      EXPECT_THAT(AdmittedOf(decisions), ElementsAre(borrower, within));
    }
  }
}

TEST(OracleCycle, TheLowerBorrowingLevelGoesFirst) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1);
  build.QueueOf(root, {{.nominal = 0}});
  build.QueueOf(root, {{.nominal = 4}});
  const int borrower = build.Job(0, 3, 9);
  const int owner = build.Job(1, 3, 0);
  const Decisions decisions = build.Cycle();
  EXPECT_THAT(AdmittedOf(decisions), ElementsAre(owner));
  EXPECT_EQ(RequeueOf(decisions, borrower), Requeue::kFailedAfterNomination);
}

TEST(OracleCycle, APreemptorWithoutVictimsKeepsItsNominalQuota_UnlessItCanAlwaysReclaim) {
  for (const EvictPolicy reclaim : {EvictPolicy::kLower, EvictPolicy::kAny}) {
    Build build;
    build.Flavor("one");
    const int root = build.Cohort(-1);
    build.QueueOf(root, {{.nominal = 4}}).reclaim = reclaim;
    build.QueueOf(root, {{.nominal = 4}});
    build.Running(0, 2, 9);
    build.Running(1, 4, 9);
    const int blocked = build.Job(0, 3, 9);  // of two free in its nominal four
    const int borrower = build.Job(1, 2);
    const Decisions decisions = build.Cycle();
    EXPECT_EQ(RequeueOf(decisions, blocked), Requeue::kNoCandidates);
    if (reclaim == EvictPolicy::kAny) {
      EXPECT_THAT(AdmittedOf(decisions), ElementsAre(borrower));
    } else {
      EXPECT_THAT(AdmittedOf(decisions), IsEmpty());
    }
  }
}

TEST(OracleCycle, OverlappingVictimsAreRecomputed_AndWhoFitsAfterThemWaits) {
  for (const bool recompute : {true, false}) {
    Build build;
    build.world.settings.recompute_on_overlap = recompute;
    build.Flavor("one");
    const int root = build.Cohort(-1);
    for (int i = 0; i < 2; ++i) build.QueueOf(root, {{.nominal = 3}}).reclaim = EvictPolicy::kAny;
    build.QueueOf(root, {{.nominal = 0}});
    const int victim = build.Running(2, 6);
    const int first = build.Job(0, 3);
    const int second = build.Job(1, 3);
    const Decisions decisions = build.Cycle();
    EXPECT_THAT(EvictedOf(decisions), ElementsAre(victim));
    EXPECT_EQ(RequeueOf(decisions, first), Requeue::kPendingPreemption);
    EXPECT_EQ(RequeueOf(decisions, second),
              recompute ? Requeue::kPendingPreemption : Requeue::kFailedAfterNomination);
    FinishEvictions(&build.world);
    EXPECT_THAT(AdmittedOf(build.Cycle()), ElementsAre(first, second));
  }
}

TEST(OracleCycle, AClosedGateKeepsItFromEvicting) {
  Build build;
  build.Flavor("one");
  build.QueueOf(-1, {{.nominal = 4}}).within = EvictPolicy::kLower;
  build.Running(0, 4);
  const int gated = build.Job(0, 4, 1);
  build.world.workloads.back().gated = true;
  const Decisions decisions = build.Cycle();
  EXPECT_THAT(EvictedOf(decisions), IsEmpty());
  EXPECT_EQ(RequeueOf(decisions, gated), Requeue::kGated);
  EXPECT_FALSE(IsActive(build.world, gated));
}

TEST(OracleCycle, QuiescenceAfterAReclaim_TheEvictedWaitsAndTheOwnerRuns) {
  Build build;
  build.Flavor("one");
  const int root = build.Cohort(-1);
  build.QueueOf(root, {{.nominal = 4}}).reclaim = EvictPolicy::kAny;
  build.QueueOf(root, {{.nominal = 2}});
  const int borrower = build.Running(1, 6);
  const int owner = build.Job(0, 4);
  Enqueue(&build.world);
  RunToQuiescence(&build.world, 20);
  EXPECT_TRUE(build.world.workloads[static_cast<std::size_t>(owner)].holding.has_value());
  EXPECT_FALSE(build.world.workloads[static_cast<std::size_t>(borrower)].holding.has_value());
  Finish(&build.world, owner);
  RunToQuiescence(&build.world, 20);
  EXPECT_TRUE(build.world.workloads[static_cast<std::size_t>(borrower)].holding.has_value());
}

TEST(OracleWorlds, RandomWorldsAreSmallAndReproducible) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const World world = RandomWorld(seed);
    EXPECT_EQ(Describe(world), Describe(RandomWorld(seed)));
    EXPECT_LE(world.queues.size(), 6u);
    EXPECT_LE(world.flavors.size(), 3u);
    EXPECT_LE(world.workloads.size(), 12u);
    for (int cohort = 0; cohort < static_cast<int>(world.cohorts.size()); ++cohort) {
      int depth = 0;
      for (int at = cohort; at >= 0; at = world.cohorts[static_cast<std::size_t>(at)].cohort)
        ++depth;
      EXPECT_LE(depth, 4);
    }
  }
}

}  // namespace
}  // namespace muster::oracle
