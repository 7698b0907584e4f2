// Classical preemption (rule A37), the parts that both searches share, and the consequences of a
// search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "schedd/core/plan/preemption_reserve.h"
#include "tests/unit/core/preemption_world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Policy = PreemptionPolicy;

constexpr QueuePreemption Policies(Policy within, Policy reclaim = Policy::kNever,
                                   Policy borrow = Policy::kNever) {
  return {within, reclaim, borrow, {}};
}

// A queue without a cohort, 4 gpus, filled by low (1), mid (2) and high (3) of 1, 1 and 2 gpus.
Contest OneQueue(Policy within) {
  Contest contest;
  contest.Queue("q", "", {{"f", "gpu", 4}}).preemption = Policies(within);
  contest.Holds({"low", "q", 1, {{"gpu", 1}}})
      .Holds({"mid", "q", 2, {{"gpu", 1}}})
      .Holds({"high", "q", 3, {{"gpu", 2}}});
  return contest;
}

TEST(Preemption, WithinTheQueue_EvictsTheLowestPrioritiesThatSuffice) {
  EXPECT_THAT(OneQueue(Policy::kLowerPriority).Victims({"q", 3, {{"gpu", 1}}}),
              ElementsAre("low InClusterQueue"));
  EXPECT_THAT(OneQueue(Policy::kLowerPriority).Victims({"q", 3, {{"gpu", 2}}}),
              ElementsAre("low InClusterQueue", "mid InClusterQueue"));
}

TEST(Preemption, WithinTheQueue_NothingIsEvictedInVain) {
  EXPECT_THAT(OneQueue(Policy::kLowerPriority).Victims({"q", 3, {{"gpu", 3}}}), IsEmpty());
  EXPECT_THAT(OneQueue(Policy::kLowerPriority).Victims({"q", 1, {{"gpu", 1}}}), IsEmpty());
  EXPECT_THAT(OneQueue(Policy::kNever).Victims({"q", 9, {{"gpu", 1}}}), IsEmpty());
}

TEST(Preemption, PolicyAny_EvictsHigherPrioritiesToo) {
  EXPECT_THAT(OneQueue(Policy::kAny).Victims({"q", 0, {{"gpu", 4}}}),
              ElementsAre("low InClusterQueue", "mid InClusterQueue", "high InClusterQueue"));
}

TEST(Preemption, FillBack_SparesWhomALaterAndLargerVictimMadeNeedless) {
  Contest contest;
  contest.Queue("q", "", {{"f", "gpu", 9}}).preemption = Policies(Policy::kLowerPriority);
  contest.Holds({"a", "q", 1, {{"gpu", 1}}})
      .Holds({"b", "q", 2, {{"gpu", 2}}})
      .Holds({"c", "q", 3, {{"gpu", 1}}})
      .Holds({"d", "q", 4, {{"gpu", 5}}});
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 5}}}), ElementsAre("d InClusterQueue"));
  // c and b are spared; the other victims take their places in the list, as in Kueue.
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 6}}}),
              ElementsAre("a InClusterQueue", "d InClusterQueue"));
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 8}}}),
              ElementsAre("a InClusterQueue", "b InClusterQueue", "d InClusterQueue"));
}

TEST(Preemption, EqualPriority_OnlyTheNewerOneGives) {
  struct {
    const char* sentence;
    std::int64_t incoming_s, held_s;
    bool evicted;
  } const cases[] = {
      {"the preemptor was there first", 10, 20, true},
      {"it came later", 20, 10, false},
      {"both came in the same second", 10, 10, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sentence);
    Contest contest;
    contest.Queue("q", "", {{"f", "gpu", 1}}).preemption =
        Policies(Policy::kLowerOrNewerEqualPriority);
    contest.Holds({"held", "q", 5, {{"gpu", 1}}, false, 0, c.held_s});
    EXPECT_EQ(contest.Victims({"q", 5, {{"gpu", 1}}, {}, c.incoming_s}).size(),
              c.evicted ? 1u : 0u);
  }
}

TEST(Preemption, OrderInAQueue_EvictedThenLowerPriorityThenReservedLaterThenUid) {
  Contest contest;
  contest.Queue("q", "", {{"f", "gpu", 6}}).preemption = Policies(Policy::kLowerPriority);
  contest.Holds({"early", "q", 1, {{"gpu", 1}}, false, 10})
      .Holds({"late", "q", 1, {{"gpu", 1}}, false, 20})
      .Holds({"late twin", "q", 1, {{"gpu", 1}}, false, 20})
      .Holds({"lowest", "q", 0, {{"gpu", 1}}, false, 10})
      .Holds({"leaving", "q", 2, {{"gpu", 1}}, true, 10})
      .Holds({"other", "q", 1, {{"gpu", 1}}, false, 5});
  const char* order[] = {"leaving", "lowest", "late", "late twin", "early", "other"};
  for (std::int64_t n = 1; n <= 6; ++n) {
    std::set<std::string> want;
    for (std::int64_t i = 0; i < n; ++i) want.insert(std::string(order[i]) + " InClusterQueue");
    const auto got = contest.Victims({"q", 9, {{"gpu", n}}});
    EXPECT_EQ(std::set<std::string>(got.begin(), got.end()), want) << n << " gpus";
  }
}

TEST(Preemption, AdmissionFairSharing_TakesFromTheLocalQueueWithTheHigherUsage) {
  Contest contest;
  contest.Queue("q", "", {{"f", "gpu", 3}}).preemption = Policies(Policy::kLowerPriority);
  contest.Holds({"modest", "q", 0, {{"gpu", 1}}, false, 0, 0, "modest-lq"})
      .Holds({"greedy high", "q", 5, {{"gpu", 1}}, false, 0, 0, "greedy-lq"})
      .Holds({"greedy low", "q", 1, {{"gpu", 1}}, false, 0, 0, "greedy-lq"});
  contest.local_usages() = {{{"default", "modest-lq"}, 0.5}, {{"default", "greedy-lq"}, 2.0}};
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 1}}}), ElementsAre("greedy low InClusterQueue"));
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 2}}}),
              ElementsAre("greedy low InClusterQueue", "greedy high InClusterQueue"));
  // Without the usage of one of them priority decides again.
  contest.local_usages().erase({"default", "modest-lq"});
  EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 1}}}), ElementsAre("modest InClusterQueue"));
}

TEST(Preemption, OnlyHoldersOfAContestedPairAreCandidates) {
  Contest contest;
  contest.Queue("q", "", {{"f", "gpu", 1}, {"g", "gpu", 1}}).preemption =
      Policies(Policy::kLowerPriority);
  contest.Holds({"elsewhere", "q", 0, {{"g/gpu", 1}}}).Holds({"here", "q", 1, {{"f/gpu", 1}}});
  EXPECT_THAT(contest.Victims({"q", 9, {{"f/gpu", 1}}}), ElementsAre("here InClusterQueue"));
}

// Cohort of three queues with 2 gpus each; `lender` uses none, `greedy` uses 4, `own` 2.
Contest Cohort3(const QueuePreemption& policies) {
  Contest contest;
  contest.Queue("own", "all", {{"f", "gpu", 2}}).preemption = policies;
  contest.Queue("greedy", "all", {{"f", "gpu", 2}});
  contest.Queue("lender", "all", {{"f", "gpu", 2}});
  contest.Holds({"mine", "own", 0, {{"gpu", 1}}})
      .Holds({"g1", "greedy", 1, {{"gpu", 1}}})
      .Holds({"g2", "greedy", 2, {{"gpu", 1}}})
      .Holds({"g3", "greedy", 3, {{"gpu", 1}}})
      .Holds({"g4", "greedy", 4, {{"gpu", 2}}});
  return contest;
}

TEST(Preemption, Reclaim_TakesFromBorrowersBeforeOwnWorkloads) {
  EXPECT_THAT(
      Cohort3(Policies(Policy::kLowerPriority, Policy::kAny)).Victims({"own", 9, {{"gpu", 1}}}),
      ElementsAre("g1 InCohortReclamation"));
}

TEST(Preemption, Reclaim_ObeysItsPolicy) {
  EXPECT_THAT(
      Cohort3(Policies(Policy::kNever, Policy::kLowerPriority)).Victims({"own", 1, {{"gpu", 1}}}),
      IsEmpty());
  EXPECT_THAT(
      Cohort3(Policies(Policy::kNever, Policy::kLowerPriority)).Victims({"own", 2, {{"gpu", 1}}}),
      ElementsAre("g1 InCohortReclamation"));
  EXPECT_THAT(Cohort3(Policies(Policy::kNever, Policy::kNever)).Victims({"own", 9, {{"gpu", 1}}}),
              IsEmpty());
}

TEST(Preemption, Reclaim_StopsWhereTheLenderIsBackAtItsNominalQuota) {
  Contest contest = Cohort3(Policies(Policy::kLowerPriority, Policy::kAny));
  contest.config().cluster_queues.at("own").resource_groups = {Group({{"f", "gpu", 6}})};
  contest.config().cluster_queues.at("lender").resource_groups = {Group({{"f", "gpu", 0}})};
  // 8 in all, 6 used. Without g1 to g3, greedy uses its 2, and no more of it may be reclaimed.
  EXPECT_THAT(
      contest.Victims({"own", 9, {{"gpu", 5}}}),
      ElementsAre("g1 InCohortReclamation", "g2 InCohortReclamation", "g3 InCohortReclamation"));
  // The sixth GPU of own's nominal quota must come from own itself.
  EXPECT_THAT(contest.Victims({"own", 9, {{"gpu", 6}}}),
              ElementsAre("g1 InCohortReclamation", "g2 InCohortReclamation",
                          "g3 InCohortReclamation", "mine InClusterQueue"));
}

TEST(Preemption, BorrowWithinCohort_TakesOnlyWhatIsBelowTheThreshold) {
  // own is full and wants to borrow 1 more: 6 in all, all used.
  const auto contest = [](std::optional<std::int32_t> threshold, Policy borrow) {
    Contest out = Cohort3(Policies(Policy::kLowerPriority, Policy::kLowerPriority, borrow));
    out.Holds({"mine too", "own", 20, {{"gpu", 1}}});
    out.config().cluster_queues.at("own").preemption.max_priority_threshold = threshold;
    out.config().cluster_queues.at("lender").resource_groups = {Group({{"f", "gpu", 3}})};
    out.config().cluster_queues.at("own").preemption.within_cluster_queue = Policy::kNever;
    return out;
  };
  EXPECT_THAT(contest({}, Policy::kLowerPriority).Victims({"own", 9, {{"gpu", 1}}}),
              ElementsAre("g1 InCohortReclaimWhileBorrowing"));
  EXPECT_THAT(contest(1, Policy::kLowerPriority).Victims({"own", 9, {{"gpu", 1}}}),
              ElementsAre("g1 InCohortReclaimWhileBorrowing"));
  EXPECT_THAT(contest(0, Policy::kLowerPriority).Victims({"own", 9, {{"gpu", 1}}}), IsEmpty());
  EXPECT_THAT(contest({}, Policy::kNever).Victims({"own", 9, {{"gpu", 1}}}), IsEmpty());
}

// root { left { own, sibling }, right { far } }, quota at the queues.
Contest Tree(std::int64_t own, std::int64_t sibling, std::int64_t far) {
  Contest contest;
  contest.CohortOf("root", "");
  contest.CohortOf("left", "root");
  contest.CohortOf("right", "root");
  contest.Queue("own", "left", {{"f", "gpu", own}}).preemption =
      Policies(Policy::kNever, Policy::kLowerPriority);
  contest.Queue("sibling", "left", {{"f", "gpu", sibling}});
  contest.Queue("far", "right", {{"f", "gpu", far}});
  return contest;
}

TEST(Preemption, HierarchicalClaim_ComesBeforePriorityClaims) {
  // left has 4: own asks for 3, which exceeds its 1 but not left's 4. So far is reclaimed from
  // whatever its priority, and sibling only by priority.
  Contest contest = Tree(1, 3, 2);
  contest.Holds({"near", "sibling", 0, {{"gpu", 1}}})
      .Holds({"far low", "far", 1, {{"gpu", 2}}})
      .Holds({"far high", "far", 2, {{"gpu", 3}}});
  EXPECT_THAT(contest.Victims({"own", 9, {{"gpu", 3}}}),
              ElementsAre("far high InCohortReclamation"));
}

TEST(Preemption, QueuesBelowACohortWithinItsQuota_AreSpared) {
  Contest contest = Tree(2, 1, 1);
  contest.Queue("far twin", "right", {{"f", "gpu", 2}});
  // far borrows only within right, which uses 3 of 3.
  contest.Holds({"borrower", "far", 0, {{"gpu", 3}}}).Holds({"near", "sibling", 0, {{"gpu", 2}}});
  EXPECT_THAT(contest.Victims({"own", 9, {{"gpu", 2}}}), ElementsAre("near InCohortReclamation"));
}

TEST(Preemption, Search_LeavesTheUsageAsItWas) {
  Contest contest = Cohort3(Policies(Policy::kLowerPriority, Policy::kAny));
  contest.Build();
  const Usage before = contest.usage();
  contest.Victims({"own", 9, {{"gpu", 2}}});
  EXPECT_EQ(contest.usage(), before);
  contest.Victims({"own", 9, {{"gpu", 100}}});
  EXPECT_EQ(contest.usage(), before);
}

// There is room only while one named workload is removed.
class OneVictimProbe final : public TopologyProbe {
 public:
  explicit OneVictimProbe(std::string name) : name_(std::move(name)) {}
  void Remove(const Holder& holder) override { EXPECT_TRUE(away_.insert(holder.job->name).second); }
  void Restore(const Holder& holder) override { EXPECT_EQ(away_.erase(holder.job->name), 1u); }
  bool Fits() override { return away_.contains(name_); }
  const std::set<std::string>& away() const { return away_; }

 private:
  std::string name_;
  std::set<std::string> away_;
};

TEST(Preemption, Topology_DecidesAfterQuotaAndIsPutBack) {
  for (const bool fair : {false, true}) {
    SCOPED_TRACE(fair);
    Contest contest = OneQueue(Policy::kLowerPriority);
    if (fair) contest.Fair();
    OneVictimProbe probe("high");
    EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 1}}}, &probe),
                ElementsAre("high InClusterQueue"));
    EXPECT_THAT(probe.away(), IsEmpty());
    OneVictimProbe never("nobody");
    EXPECT_THAT(contest.Victims({"q", 9, {{"gpu", 1}}}, &never), IsEmpty());
    EXPECT_THAT(never.away(), IsEmpty());
  }
}

TEST(Preemption, Simulation_TellsOwnVictimsFromReclaimedOnesAndMeasuresBorrowingWithoutThem) {
  using Possibility = PreemptionOutlook::Possibility;
  Contest contest = Cohort3(Policies(Policy::kLowerPriority, Policy::kAny));
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 1}}}).possibility, Possibility::kReclaim);
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 1}}}).borrowing_level, 0);
  // 1 + 2 of 2 would borrow, which own may not do while it reclaims, so its own workload must be
  // evicted too.
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 2}}}).possibility, Possibility::kPreempt);
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 2}}}).borrowing_level, 0);
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 7}}}).possibility, Possibility::kNoCandidates);
  EXPECT_EQ(contest.Outlook({"own", 9, {{"gpu", 7}}}).borrowing_level, 1);
  EXPECT_EQ(OneQueue(Policy::kLowerPriority).Outlook({"q", 9, {{"gpu", 1}}}).possibility,
            Possibility::kPreempt);
}

TEST(Preemption, Message_NamesBothSidesAndWhatIsUnknown) {
  EXPECT_EQ(
      PreemptionMessage("u1", "j1", Reason::kInCohortReclaimWhileBorrowing, "/all/a", "/all/b"),
      "Preempted to accommodate a workload (UID: u1, JobUID: j1) due to reclamation within the "
      "cohort while borrowing; preemptor path: /all/a; preemptee path: /all/b");
  EXPECT_EQ(PreemptionMessage("", "", Reason::kNone, "", "/b"),
            "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to UNKNOWN; "
            "preemptor path: UNKNOWN; preemptee path: /b");
}

TEST(Preemption, Path_GoesFromTheRootCohortToTheQueue) {
  Contest contest = Tree(1, 1, 1);
  contest.Queue("alone", "", {{"f", "gpu", 1}});
  contest.Build();
  EXPECT_EQ(contest.tree().Path(contest.NodeOf("own")), "/root/left/own");
  EXPECT_EQ(contest.tree().Path(contest.NodeOf("alone")), "/alone");
}

TEST(Reserve, WhatAWaitingPreemptorBlocks) {
  struct {
    const char* sentence;
    FlavorMode mode;
    std::optional<std::int64_t> borrowing_limit;
    std::int64_t used, wanted;
    std::int32_t level;
    std::int64_t reserved;
  } const cases[] = {
      {"all of what fits", FlavorMode::kFit, {}, 3, 5, 0, 5},
      {"what is left of the nominal quota", FlavorMode::kPreempt, {}, 3, 5, 0, 1},
      {"nothing where nothing is left", FlavorMode::kPreempt, {}, 6, 5, 0, 0},
      {"all when it borrows without a limit", FlavorMode::kPreempt, {}, 6, 5, 1, 5},
      {"up to the borrowing limit", FlavorMode::kPreempt, 5, 6, 5, 1, 3},
      {"less than nothing above the borrowing limit", FlavorMode::kPreempt, 1, 6, 5, 1, -1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sentence);
    Contest contest;
    contest.Queue("q", "all", {{"f", "gpu", 4, c.borrowing_limit}});
    contest.Build();
    contest.usage().Add(contest.NodeOf("q"), 0, c.used);
    Assignment assignment;
    assignment.pod_sets.push_back({});
    assignment.pod_sets[0].name = "main";
    if (c.mode != FlavorMode::kFit) assignment.pod_sets[0].reasons = {"lacks room"};
    assignment.pod_sets[0].flavors["gpu"] = {"f", c.mode, 0, c.level};
    assignment.borrowing_level = c.level;
    assignment.usage = {{0, c.wanted}};
    EXPECT_EQ(ResourcesToReserve(contest.usage(), contest.NodeOf("q"), assignment),
              (Charges{{0, c.reserved}}));
  }
}

}  // namespace
}  // namespace muster::core::testing
