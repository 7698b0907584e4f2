// Quota arithmetic over cohort trees, with numbers worked out by hand from rule A25.
#include "schedd/core/quota/quota_tree.h"

#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

class QuotaTreeTest : public ::testing::Test {
 protected:
  void Build() { usage_ = world_.EmptyUsage(); }
  NodeIndex Queue(const char* name) const { return usage_.tree().ClusterQueueIndex(name); }
  NodeIndex Cohort(const char* name) const { return usage_.tree().CohortIndex(name); }
  FlavorResourceIndex Cpu() const { return usage_.tree().PairIndex("default", "cpu"); }
  void Add(const char* queue, std::int64_t amount) { usage_.Add(Queue(queue), Cpu(), amount); }
  std::int64_t Free(const char* queue) const { return usage_.Available(Queue(queue), Cpu()); }
  std::int64_t Most(const char* queue) const { return usage_.Potential(Queue(queue), Cpu()); }
  std::int32_t Level(const char* queue, std::int64_t amount) const {
    return usage_.BorrowingLevel(Queue(queue), Cpu(), amount);
  }

  World world_;
  Usage usage_;
};

TEST_F(QuotaTreeTest, QueueWithoutCohort_HasItsNominalQuota_AndNothingElse) {
  world_.Queue("a", "", {{"default", "cpu", 10}});
  world_.Queue("b", "", {{"default", "cpu", 90}});
  Build();
  EXPECT_EQ(Most("a"), 10);
  Add("a", 4);
  EXPECT_EQ(Free("a"), 6);
  EXPECT_EQ(Free("b"), 90);
  EXPECT_EQ(Level("a", 7), 0) << "there is nobody to borrow from";
}

TEST_F(QuotaTreeTest, Cohort_LendsWhatItsQueuesDoNotUse) {
  world_.Queue("a", "team", {{"default", "cpu", 10}});
  world_.Queue("b", "team", {{"default", "cpu", 5}});
  Build();
  EXPECT_EQ(Most("a"), 15);
  Add("b", 3);
  EXPECT_EQ(Free("a"), 12);
  EXPECT_EQ(Level("a", 10), 0);
  EXPECT_EQ(Level("a", 11), 1);
  Add("a", 12);
  EXPECT_EQ(Free("a"), 0);
  EXPECT_EQ(Free("b"), 0) << "what b did not use is lent out";
  EXPECT_EQ(usage_.Borrowed(Queue("a"), Cpu()), 2);
  EXPECT_EQ(usage_.Borrowed(Queue("b"), Cpu()), 0);
}

TEST_F(QuotaTreeTest, BorrowingLimit_CapsWhatAQueueTakesBeyondItsNominal) {
  world_.Queue("a", "team", {{"default", "cpu", 10, 2}});
  world_.Queue("b", "team", {{"default", "cpu", 50}});
  Build();
  EXPECT_EQ(Most("a"), 12);
  EXPECT_EQ(Free("a"), 12);
  Add("a", 11);
  EXPECT_EQ(Free("a"), 1);
  Add("a", 1);
  EXPECT_EQ(Free("a"), 0);
  EXPECT_EQ(Free("b"), 48);
}

TEST_F(QuotaTreeTest, LendingLimit_KeepsTheRestForTheQueueItself) {
  world_.Queue("a", "team", {{"default", "cpu", 10, {}, 4}});
  world_.Queue("b", "team", {{"default", "cpu", 1}});
  Build();
  EXPECT_EQ(Most("b"), 5) << "own 1, and 4 that a lends";
  EXPECT_EQ(Most("a"), 11) << "6 kept, and the 5 of the cohort";
  Add("b", 5);
  EXPECT_EQ(Free("a"), 6) << "the kept part is untouched";
  Add("a", 6);
  EXPECT_EQ(usage_.At(Cohort("team"), Cpu()), 5) << "the kept part is not usage of the cohort";
  EXPECT_EQ(Free("a"), 0);
}

TEST_F(QuotaTreeTest, CohortQuotaAndLimits_HoldAtEveryLevel) {
  // root(100) <- mid(20, may borrow 5, lends 10) <- a(10, may borrow any); root <- b(0)
  world_.CohortOf("root", "", {{"default", "cpu", 100}});
  world_.CohortOf("mid", "root", {{"default", "cpu", 20, 5, 10}});
  world_.Queue("a", "mid", {{"default", "cpu", 10}});
  world_.Queue("b", "root", {{"default", "cpu", 0}});
  Build();
  EXPECT_EQ(Most("a"), 35) << "subtree of mid 30 and its borrowing limit 5";
  EXPECT_EQ(Most("b"), 110) << "root's 100 and the 10 that mid lends";
  Add("b", 108);
  EXPECT_EQ(Free("a"), 22) << "20 that mid keeps and 2 left at the root";
  Add("a", 22);
  EXPECT_EQ(usage_.At(Cohort("mid"), Cpu()), 22);
  EXPECT_EQ(usage_.At(Cohort("root"), Cpu()), 110);
  EXPECT_EQ(Free("a"), 0);
  EXPECT_EQ(Free("b"), 0);
}

TEST_F(QuotaTreeTest, BorrowingLevel_IsTheHeightOfTheFirstSubtreeThatNeedNotBorrow) {
  world_.CohortOf("mid", "root", {{"default", "cpu", 5}});
  world_.CohortOf("root", "", {{"default", "cpu", 5}});
  world_.Queue("a", "mid", {{"default", "cpu", 10}});
  Build();
  EXPECT_EQ(usage_.tree().node(Queue("a")).height, 0);
  EXPECT_EQ(usage_.tree().node(Cohort("mid")).height, 1);
  EXPECT_EQ(usage_.tree().node(Cohort("root")).height, 2);
  EXPECT_EQ(Level("a", 10), 0);
  EXPECT_EQ(Level("a", 15), 1);
  EXPECT_EQ(Level("a", 16), 2);
  EXPECT_EQ(Level("a", 99), 2) << "nobody has it: the root's height";
  EXPECT_TRUE(usage_.EndsBelowRoot(Queue("a"), Cpu(), 15));
  EXPECT_FALSE(usage_.EndsBelowRoot(Queue("a"), Cpu(), 16));
}

TEST_F(QuotaTreeTest, EmptyCohort_HasHeightZero) {
  world_.CohortOf("alone", "");
  Build();
  EXPECT_EQ(usage_.tree().node(Cohort("alone")).height, 0);
}

TEST_F(QuotaTreeTest, ShrunkQuota_LeavesNegativeAvailable_ThatQueuesSeeAsZero) {
  world_.Queue("a", "team", {{"default", "cpu", 10}});
  Build();
  Add("a", 14);
  EXPECT_EQ(usage_.Available(Cohort("team"), Cpu()), -4);
  EXPECT_EQ(Free("a"), 0);
  usage_.Remove(Queue("a"), Cpu(), 14);
  EXPECT_EQ(Free("a"), 10);
  EXPECT_EQ(usage_, Usage(usage_.tree_ptr()));
}

TEST_F(QuotaTreeTest, RemoveAfterAdd_RestoresEveryNode_AlsoAcrossTheKeptPart) {
  world_.Queue("a", "team", {{"default", "cpu", 10, {}, 4}});
  world_.Queue("b", "team", {{"default", "cpu", 1}});
  Build();
  Add("a", 5);
  const Usage before = usage_;
  Add("a", 5);
  EXPECT_EQ(usage_.At(Cohort("team"), Cpu()), 4);
  usage_.Remove(Queue("a"), Cpu(), 5);
  EXPECT_EQ(usage_, before);
}

TEST_F(QuotaTreeTest, CycleOfCohorts_IsMarked_AndEverythingBelowItStandsAlone) {
  world_.CohortOf("x", "y");
  world_.CohortOf("y", "x");
  world_.CohortOf("below", "x");
  world_.Queue("a", "below", {{"default", "cpu", 10}});
  world_.Queue("b", "sound", {{"default", "cpu", 10}});
  Build();
  EXPECT_TRUE(usage_.tree().node(Queue("a")).in_cycle);
  EXPECT_TRUE(usage_.tree().node(Cohort("x")).in_cycle);
  EXPECT_TRUE(usage_.tree().node(Cohort("below")).in_cycle);
  EXPECT_FALSE(usage_.tree().node(Queue("b")).in_cycle);
  EXPECT_EQ(usage_.tree().node(Queue("a")).parent, -1);
  Add("a", 3);
  EXPECT_EQ(usage_.At(Queue("a"), Cpu()), 3);
  EXPECT_EQ(usage_.At(Cohort("below"), Cpu()), 0);
}

TEST_F(QuotaTreeTest, CohortIsItsOwnParent_IsACycle) {
  world_.CohortOf("me", "me");
  world_.Queue("a", "me", {{"default", "cpu", 10}});
  Build();
  EXPECT_TRUE(usage_.tree().node(Queue("a")).in_cycle);
}

TEST_F(QuotaTreeTest, Names_AreFoundByKind_AndUnknownOnesAreNot) {
  world_.Queue("same", "same", {{"default", "cpu", 1}});
  Build();
  EXPECT_NE(Queue("same"), Cohort("same"));
  EXPECT_EQ(usage_.tree().node(Queue("same")).parent, Cohort("same"));
  EXPECT_EQ(Queue("other"), -1);
  EXPECT_EQ(Cohort(""), -1);
  EXPECT_EQ(usage_.tree().PairIndex("default", "gpu"), -1);
  EXPECT_EQ(usage_.tree().PairIndex("none", "cpu"), -1);
}

TEST_F(QuotaTreeTest, Unlimited_StaysUnlimited_ButNoSumMaySaturate) {
  world_.Queue("a", "team", {{"default", "cpu", kUnlimited}});
  world_.Queue("b", "team", {{"default", "cpu", 1}});
  Build();
  EXPECT_EQ(Most("b"), kUnlimited);
  EXPECT_EQ(Free("b"), kUnlimited);
  const std::int64_t half = kUnlimited / 2 + 1;
  EXPECT_TRUE(usage_.Fits(Queue("a"), Cpu(), half));
  Add("a", half);
  EXPECT_FALSE(usage_.Fits(Queue("b"), Cpu(), half)) << "the cohort's sum would leave 64 bits";
  EXPECT_FALSE(usage_.Fits(Queue("b"), Cpu(), kUnlimited));
  usage_.Remove(Queue("a"), Cpu(), half);
  EXPECT_EQ(usage_, Usage(usage_.tree_ptr()));
}

TEST_F(QuotaTreeTest, AdmissionOfADeletedQueueOrPair_IsIgnored) {
  world_.Queue("a", "", {{"default", "cpu", 10}});
  Build();
  Admission admission;
  admission.cluster_queue = "gone";
  admission.pod_sets = {{"main", 1, {{"cpu", "default"}}, {{"cpu", 3}}}};
  usage_.Add(admission);
  admission.cluster_queue = "a";
  admission.pod_sets[0].flavors = {{"cpu", "gone"}};
  usage_.Add(admission);
  EXPECT_EQ(usage_, Usage(usage_.tree_ptr()));
  admission.pod_sets[0].flavors = {{"cpu", "default"}};
  usage_.Add(admission);
  EXPECT_EQ(usage_.At(Queue("a"), Cpu()), 3);
  usage_.Remove(admission);
  EXPECT_EQ(usage_, Usage(usage_.tree_ptr()));
}

TEST_F(QuotaTreeTest, Recompute_SumsTheAdmissionsOfJobs_AndPassesOverTheOthers) {
  world_.Queue("a", "team", {{"default", "cpu", 10}});
  Build();
  auto job = world_.Job("a", 0, {});
  Admission admission;
  admission.cluster_queue = "a";
  admission.pod_sets = {{"main", 1, {{"cpu", "default"}}, {{"cpu", 3}}}};
  job->admission = std::make_shared<const Admission>(admission);
  const auto waiting = world_.Job("a", 0, {});
  Add("a", 3);
  EXPECT_EQ(Recompute(usage_.tree_ptr(), {job, waiting}), usage_);
}

}  // namespace
}  // namespace muster::core::testing
