// Preemption under fair sharing (rule A41).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "schedd/core/preempt/fair_targets.h"
#include "tests/unit/core/preemption_world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Policy = PreemptionPolicy;
using Strategy = FairStrategy;

constexpr auto kFinal = Strategy::kLessThanOrEqualToFinalShare;
constexpr auto kInitial = Strategy::kLessThanInitialShare;

constexpr QueuePreemption kBoth = {Policy::kLowerPriority, Policy::kAny, Policy::kNever, {}};

// Queues a, b, c of one cohort with `nominal` gpus each; only a preempts.
Contest Three(std::int64_t nominal) {
  Contest contest;
  contest.Fair();
  contest.Queue("a", "all", {{"f", "gpu", nominal}}).preemption = kBoth;
  contest.Queue("b", "all", {{"f", "gpu", nominal}});
  contest.Queue("c", "all", {{"f", "gpu", nominal}});
  return contest;
}

Contest& Fill(Contest* contest, const std::string& queue, int count, std::int64_t each = 1,
              std::int32_t priority = 0) {
  for (int i = 1; i <= count; ++i) {
    contest->Holds({queue + std::to_string(i), queue, priority, {{"gpu", each}}});
  }
  return *contest;
}

TEST(FairPreemption, NominalQuota_IsTakenBackFromTheLargestBorrower) {
  Contest contest = Three(3);
  Fill(&contest, "b", 4);
  Fill(&contest, "c", 5);
  EXPECT_THAT(contest.Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("c1 InCohortReclamation"));
  EXPECT_THAT(
      contest.Victims({"a", 0, {{"gpu", 3}}}),
      ElementsAre("c1 InCohortReclamation", "b1 InCohortReclamation", "c2 InCohortReclamation"));
}

TEST(FairPreemption, WithoutTheNominalGate_SharesDecideAlone) {
  Contest contest = Three(3);
  contest.settings().fair_preempt_within_nominal = false;
  Fill(&contest, "b", 4);
  Fill(&contest, "c", 5);
  EXPECT_THAT(contest.Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("c1 InCohortFairSharing"));
}

TEST(FairPreemption, BorrowingPreemptor_MustNotEndAboveItsVictim) {
  struct {
    const char* sentence;
    std::vector<Strategy> strategies;
    int own;
    std::int64_t wanted;
    std::vector<std::string> victims;
  } const cases[] = {
      // 9 gpus: c uses the rest.
      {"4 against 5 leaves 5 against 4", {kFinal}, 4, 1, {}},
      {"3 against 6 leaves 4 against 5", {kFinal}, 3, 1, {"c1 InCohortFairSharing"}},
      {"the initial share of the victim is what counts", {kInitial}, 4, 1, {}},
      {"3 against 6 by initial share", {kInitial}, 3, 1, {"c1 InCohortFairSharing"}},
      {"3 against 6 for 2 more: 5 against 5 then 5 against 4, by final share", {kFinal}, 3, 2, {}},
      {"the second strategy gives one more of each queue", {kFinal, kInitial}, 3, 2, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sentence);
    Contest contest = Three(3);
    contest.Fair(c.strategies);
    Fill(&contest, "a", c.own, 1, 9);
    Fill(&contest, "c", 9 - c.own);
    EXPECT_EQ(contest.Victims({"a", 0, {{"gpu", c.wanted}}}), c.victims);
  }
}

TEST(FairPreemption, Strategies_DifferOnOneLargeVictim) {
  // a has 4 of 3 and wants 1 more; c holds 5 in one piece: 5 against 0 afterwards.
  const auto contest = [](std::vector<Strategy> strategies) {
    Contest out = Three(3);
    out.Fair(std::move(strategies));
    Fill(&out, "a", 3, 1, 9);
    out.Holds({"large", "c", 0, {{"gpu", 6}}});
    return out;
  };
  EXPECT_THAT(contest({kFinal}).Victims({"a", 0, {{"gpu", 1}}}), IsEmpty());
  EXPECT_THAT(contest({kInitial}).Victims({"a", 0, {{"gpu", 1}}}),
              ElementsAre("large InCohortFairSharing"));
  EXPECT_THAT(contest({kFinal, kInitial}).Victims({"a", 0, {{"gpu", 1}}}),
              ElementsAre("large InCohortFairSharing"));
  EXPECT_THAT(contest({kInitial, kFinal}).Victims({"a", 0, {{"gpu", 1}}}),
              ElementsAre("large InCohortFairSharing"));
  EXPECT_THAT(contest({}).Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("large InCohortFairSharing"))
      << "no list is both";
}

TEST(FairPreemption, StrategyPassesOverTheLargeOne_AndTakesASmallerOfTheSameQueue) {
  Contest contest = Three(3);
  contest.Fair({kFinal});
  Fill(&contest, "a", 3, 1, 9);
  contest.Holds({"large", "c", 0, {{"gpu", 5}}}).Holds({"small", "c", 5, {{"gpu", 1}}});
  EXPECT_THAT(contest.Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("small InCohortFairSharing"));
}

TEST(FairPreemption, OwnQueue_GivesWhenItsShareIsTheHighest) {
  Contest contest = Three(3);
  Fill(&contest, "a", 5, 1, 1);
  Fill(&contest, "b", 4);
  EXPECT_THAT(contest.Victims({"a", 5, {{"gpu", 1}}}), ElementsAre("a1 InClusterQueue"));
}

TEST(FairPreemption, QueueWithoutCohort_PreemptsWithin) {
  Contest contest;
  contest.Fair();
  contest.Queue("q", "", {{"f", "gpu", 2}}).preemption = kBoth;
  Fill(&contest, "q", 2);
  EXPECT_THAT(contest.Victims({"q", 1, {{"gpu", 1}}}), ElementsAre("q1 InClusterQueue"));
  EXPECT_THAT(contest.Victims({"q", 0, {{"gpu", 1}}}), IsEmpty());
}

TEST(FairPreemption, ZeroWeight_TakesOnlyFromItsKind) {
  const auto contest = [](double own, double other) {
    Contest out = Three(3);
    out.config().cluster_queues.at("a").fair_weight = own;
    out.config().cluster_queues.at("c").fair_weight = other;
    Fill(&out, "a", 3, 1, 9);
    Fill(&out, "c", 6);
    return out;
  };
  EXPECT_THAT(contest(0, 1).Victims({"a", 0, {{"gpu", 1}}}), IsEmpty());
  EXPECT_THAT(contest(0, 0).Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("c1 InCohortFairSharing"));
  EXPECT_THAT(contest(1, 0).Victims({"a", 0, {{"gpu", 1}}}), ElementsAre("c1 InCohortFairSharing"));
}

TEST(FairPreemption, Shares_AreComparedJustBelowTheCommonCohort) {
  // root { left { a, b }, right { c } } with 2 gpus each and 6 in all. b borrows from its own side
  // only; between the sides right has borrowed 2.
  Contest contest;
  contest.Fair({kFinal});
  contest.settings().fair_preempt_within_nominal = false;
  contest.CohortOf("root", "");
  contest.CohortOf("left", "root");
  contest.CohortOf("right", "root");
  contest.Queue("a", "left", {{"f", "gpu", 1}}).preemption = kBoth;
  contest.Queue("b", "left", {{"f", "gpu", 3}});
  contest.Queue("c", "right", {{"f", "gpu", 2}});
  Fill(&contest, "b", 2);
  Fill(&contest, "c", 4);
  // a would borrow as a queue, but left as a side would not.
  EXPECT_THAT(contest.Victims({"a", 0, {{"gpu", 2}}}),
              ElementsAre("c1 InCohortFairSharing", "c2 InCohortFairSharing"));
}

TEST(FairPreemption, Search_LeavesTheUsageAsItWas) {
  Contest contest = Three(3);
  Fill(&contest, "b", 4);
  Fill(&contest, "c", 5);
  contest.Build();
  const Usage before = contest.usage();
  for (const std::int64_t wanted : {1, 3, 8, 100}) {
    contest.Victims({"a", 0, {{"gpu", wanted}}});
    EXPECT_EQ(contest.usage(), before) << wanted;
  }
}

TEST(FairPreemption, AmountsThatWouldSaturate_AreRefusedUntouched) {
  Contest contest;
  contest.Fair();
  contest.Queue("q", "", {{"f", "gpu", kUnlimited}}).preemption = kBoth;
  contest.Holds({"huge", "q", 0, {{"gpu", kUnlimited - 5}}});
  contest.Build();
  const Usage before = contest.usage();
  EXPECT_THAT(contest.Victims({"q", 1, {{"gpu", 10}}}), IsEmpty());
  EXPECT_EQ(contest.usage(), before);
}

TEST(FairTargets, EqualShares_TheCandidateOrderDecides) {
  Contest contest = Three(1);
  contest.Holds({"b high", "b", 7, {{"gpu", 2}}}).Holds({"c low", "c", 3, {{"gpu", 2}}});
  contest.Build();
  const Preemptor preemptor = contest.PreemptorOf({"a", 9, {}});
  const std::vector<FlavorResourceIndex> contested = {contest.PairOf("gpu")};
  const VictimQuery query{contest.settings(), contest.holders(), nullptr, preemptor, {}, contested};
  FairTargets targets(contest.usage(), preemptor.queue);
  targets.Add(CandidateList(query, contest.NodeOf("b"), Policy::kAny));
  targets.Add(CandidateList(query, contest.NodeOf("c"), Policy::kAny));
  CandidateList* first = targets.Next();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ((*first->Pop())->job->name, "c low");
  CandidateList* second = targets.Next();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->queue(), contest.NodeOf("b"));
  targets.Drop(second->queue());
  EXPECT_EQ(targets.Next(), nullptr);
}

}  // namespace
}  // namespace muster::core::testing
