// Dominant resource shares (rule A39) and the values that the tree keeps for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "schedd/core/quota/fair_share.h"
#include "tests/unit/core/preemption_world.h"

namespace muster::core::testing {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Two queues of one cohort, 10 cpu and 4 gpus each, over two flavors.
Contest TwoQueues() {
  Contest contest;
  for (const char* name : {"a", "b"}) {
    contest.Queue(name, "all",
                  {{"f", "cpu", 6}, {"f", "gpu", 4}, {"g", "cpu", 4}, {"g", "gpu", 0}});
  }
  return contest;
}

TEST(FairShare, Share_IsTheLargestPartOfWhatTheParentLends) {
  struct {
    const char* sentence;
    Amounts used;
    double share;
    const char* dominant;
    bool borrowing;
  } const cases[] = {
      {"nothing is used", {}, 0, "", false},
      {"all quota is used, nothing borrowed", {{"f/cpu", 6}, {"f/gpu", 4}}, 0, "", false},
      {"2 of 20 cpu", {{"f/cpu", 8}}, 100, "cpu", true},
      {"flavors of one resource are added", {{"f/cpu", 8}, {"g/cpu", 5}}, 150, "cpu", true},
      {"what one flavor has left does not offset the other", {{"f/cpu", 8}}, 100, "cpu", true},
      {"the larger of cpu and gpu", {{"f/cpu", 8}, {"f/gpu", 6}}, 250, "gpu", true},
      {"of equal ones the first by name",
       {{"f/cpu", 8}, {"g/cpu", 7}, {"f/gpu", 6}},
       250,
       "cpu",
       true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sentence);
    Contest contest = TwoQueues();
    contest.Holds({"holder", "a", 0, c.used});
    contest.Build();
    const Share share = ShareOf(contest.usage(), contest.NodeOf("a"));
    EXPECT_EQ(share.Weighted(), c.share);
    EXPECT_EQ(share.dominant < 0 ? "" : contest.tree().resource(share.dominant), c.dominant);
    EXPECT_EQ(share.borrowing, c.borrowing);
    EXPECT_EQ(ShareOf(contest.usage(), contest.NodeOf("b")).Weighted(), 0);
    EXPECT_EQ(ShareOf(contest.usage(), contest.NodeOf("all")).Weighted(), 0) << "of a root";
  }
}

TEST(FairShare, Share_CountsOnlyWhatThePotentialOfTheParentHolds) {
  // mid may borrow 5 from root: a's parent could have 4 + 5.
  Contest contest;
  contest.CohortOf("root", "", {{"f", "gpu", 50}});
  contest.CohortOf("mid", "root").resource_groups = {Group({{"f", "gpu", 0, 5}})};
  contest.Queue("a", "mid", {{"f", "gpu", 4}});
  contest.Holds({"holder", "a", 0, {{"gpu", 7}}});
  contest.Build();
  EXPECT_EQ(ShareOf(contest.usage(), contest.NodeOf("a")).Weighted(), 3 * 1000.0 / 9);
  EXPECT_EQ(ShareOf(contest.usage(), contest.NodeOf("mid")).Weighted(), 3 * 1000.0 / 54);
}

TEST(FairShare, NothingLendable_IsBorrowingWithoutAShare) {
  Contest contest;
  contest.Queue("a", "all", {{"f", "gpu", 2, {}, 0}});
  contest.Queue("b", "all", {{"f", "gpu", 2, {}, 0}}).fair_weight = 0;
  contest.Holds({"one", "a", 0, {{"gpu", 3}}}).Holds({"two", "b", 0, {{"gpu", 3}}});
  contest.Build();
  const Share a = ShareOf(contest.usage(), contest.NodeOf("a"));
  EXPECT_TRUE(a.borrowing);
  EXPECT_EQ(a.Rounded(), 0);
  EXPECT_EQ(ShareOf(contest.usage(), contest.NodeOf("b")).Rounded(), kMost);
}

TEST(FairShare, Weights_DivideAndRoundUp) {
  struct {
    const char* sentence;
    double weight, unweighted;
    bool borrowing;
    std::int64_t rounded;
    const char* text;
  } const cases[] = {
      {"weight 1", 1, 200, true, 200, "200"},
      {"weight 4", 4, 10, true, 3, "2.5"},
      {"a third", 3, 1, true, 1, "0.3333333333333333"},
      {"a small weight", 0.001, 1, true, 1000, "1000"},
      {"beyond 64 bits", 1e-9, 1e12, true, kMost, "1000000000000000000000"},
      {"weight 0 and borrowing", 0, 100, true, kMost, "+Inf"},
      {"weight 0 and not borrowing", 0, 0, false, 0, "0"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.sentence);
    const Share share{c.weight, c.unweighted, -1, c.borrowing};
    EXPECT_EQ(share.Rounded(), c.rounded);
    EXPECT_EQ(WeightedShareText(share), c.text);
  }
}

TEST(FairShare, Compare_PutsZeroWeightsAboveAllAndOrdersThemUnweighted) {
  const Share none{1, 0, -1, false};
  const Share some{2, 100, 0, true};
  const Share more{1, 60, 0, true};
  const Share infinite{0, 1, 0, true};
  const Share larger{0, 2, 0, true};
  const Share idle{0, 0, -1, false};
  EXPECT_LT(Compare(none, some), 0);
  EXPECT_LT(Compare(some, more), 0);
  EXPECT_LT(Compare(more, infinite), 0);
  EXPECT_GT(Compare(infinite, more), 0);
  EXPECT_LT(Compare(infinite, larger), 0);
  EXPECT_EQ(Compare(infinite, infinite), 0);
  EXPECT_EQ(Compare(none, idle), 0);
}

TEST(FairShare, BorrowsOn_LooksOnlyAtWhatIsWanted) {
  Contest contest = TwoQueues();
  contest.Queue("alone", "", {{"f", "cpu", 1}});
  contest.Holds({"holder", "a", 0, {{"f/cpu", 8}, {"f/gpu", 1}}})
      .Holds({"solo", "alone", 0, {{"f/cpu", 2}}});
  contest.Build();
  const auto borrows = [&](const char* queue, const Amounts& wanted) {
    return BorrowsOn(contest.usage(), contest.NodeOf(queue), contest.ChargesOf(wanted));
  };
  EXPECT_TRUE(borrows("a", {{"f/cpu", 1}}));
  EXPECT_FALSE(borrows("a", {{"f/cpu", 0}}));
  EXPECT_FALSE(borrows("a", {{"f/gpu", 1}, {"g/cpu", 1}}));
  EXPECT_FALSE(borrows("a", {}));
  EXPECT_FALSE(borrows("b", {{"f/cpu", 1}}));
  EXPECT_FALSE(borrows("alone", {{"f/cpu", 1}})) << "nobody lends to it";
}

TEST(FairShare, ShareWith_AddsToTheNodeAlone) {
  Contest contest = TwoQueues();
  contest.Holds({"holder", "a", 0, {{"f/cpu", 5}}});
  contest.Build();
  const Usage before = contest.usage();
  const Charges more = contest.ChargesOf({{"f/cpu", 3}});
  EXPECT_EQ(ShareWith(contest.usage(), contest.NodeOf("a"), more).Weighted(), 100);
  EXPECT_EQ(contest.usage(), before);
}

}  // namespace
}  // namespace muster::core::testing
