// The members that get a placement's configuration objects: which members each policy picks, which
// stay and which leave.
#include "tests/unit/propagation/step_world.h"

namespace muster::propagation::testing {
namespace {

Toleration Tolerating(const std::string& key) { return {key, "Exists", "", "", {}}; }

class PickTest : public ::testing::Test {
 protected:
  PickTest() {
    world_.PutQueue("gpu");
    world_.Member("a", {{"zone", "x"}, {"tier", "gold"}});
    world_.Member("b", {{"zone", "x"}, {"tier", "iron"}});
    world_.Member("c", {{"zone", "y"}, {"tier", "gold"}});
  }

  // The members that have the placement's objects or are about to get them.
  std::string Picked() const {
    std::string picked;
    for (const auto& [key, work] : world_.works().works) {
      if (work->state != WorkState::kLeaving) picked += work->cluster;
    }
    return picked;
  }
  // Plans until nothing changes; the members do what their rows ask for.
  std::string Settle() {
    for (int i = 0; i < 20; ++i) {
      world_.Step();
      world_.ObeyAll();
      world_.Pass(2 * kSecond);
    }
    return Picked();
  }
  std::string Settle(const Placement& placement) {
    world_.Place(placement);
    return Settle();
  }
  static ClusterSelectorTerm Requiring(const LabelMap& labels) { return {{labels, {}}, {}}; }
  static PreferredClusterTerm Preferring(std::int32_t weight, const LabelMap& labels) {
    return {weight, {labels, {}}, {}};
  }
  static Placement PickN(std::int32_t n) {
    Placement placement = StepWorld::QueuePlacement(PlacementType::kPickN);
    placement.policy.number_of_clusters = n;
    return placement;
  }
  static Placement PickFixed(const std::vector<std::string>& names) {
    Placement placement = StepWorld::QueuePlacement(PlacementType::kPickFixed);
    placement.policy.cluster_names = names;
    return placement;
  }

  StepWorld world_;
};

TEST_F(PickTest, NewMembers_AnswerAreNotCordonedAndTakeObjects) {
  for (const PlacementType type :
       {PlacementType::kPickAll, PlacementType::kPickFixed, PlacementType::kPickN}) {
    StepWorld world;
    world.PutQueue("gpu");
    for (const char* name : {"a", "b", "c", "d", "e"}) world.Member(name);
    world.Member("a").healthy = false;
    world.Member("b").cordoned = true;
    world.TakesNothing("c");
    world.Member("e").observed_at = {};  // not heard of yet
    Placement placement = StepWorld::QueuePlacement(type);
    placement.policy.cluster_names = {"a", "b", "c", "d", "e", "none"};
    placement.policy.number_of_clusters = 5;
    world.Place(placement);
    world.Step();
    EXPECT_EQ(world.Rows(), "d:bound/0") << PlacementTypeName(type);
  }
}

TEST_F(PickTest, AMember_KeepsWhatItHas_WhateverBecomesOfIt) {
  for (const PlacementType type :
       {PlacementType::kPickAll, PlacementType::kPickFixed, PlacementType::kPickN}) {
    StepWorld world;
    world.PutQueue("gpu");
    for (const char* name : {"a", "b", "c", "d"}) world.Member(name, {{"tier", "gold"}});
    Placement placement = StepWorld::QueuePlacement(type);
    placement.policy.cluster_names = {"a", "b", "c", "d"};
    placement.policy.number_of_clusters = 4;
    if (type != PlacementType::kPickFixed)
      placement.policy.required = {Requiring({{"tier", "gold"}})};
    world.Place(placement);
    world.Step();
    world.Member("a").healthy = false;
    world.Member("b").cordoned = true;
    world.Member("c").taints = {{"x", "", "NoSchedule"}};
    world.Member("d").labels.clear();
    EXPECT_TRUE(world.Plan().empty()) << PlacementTypeName(type);
  }
}

TEST_F(PickTest, PickAll_TakesEveryMemberThatThePolicyLetsThrough) {
  Placement placement = StepWorld::QueuePlacement();
  EXPECT_EQ(Settle(placement), "abc");
  placement.policy.required = {Requiring({{"tier", "gold"}})};
  EXPECT_EQ(Settle(placement), "ac");  // the policy was changed: it asks again
  world_.Member("d", {{"tier", "gold"}});
  EXPECT_EQ(Settle(), "acd");
  world_.Member("e", {{"tier", "gold"}}).taints = {{"x", "", "NoSchedule"}};
  EXPECT_EQ(Settle(), "acd");
  placement.policy.tolerations = {Tolerating("x")};
  EXPECT_EQ(Settle(placement), "acde");
}

TEST_F(PickTest, PickFixed_TakesTheNamedOnesAndJudgesNoTaints) {
  world_.Member("b").taints = {{"x", "", "NoSchedule"}};
  EXPECT_EQ(Settle(PickFixed({"b", "c", "none"})), "bc");
  EXPECT_EQ(Settle(PickFixed({"a", "b"})), "ab");
}

TEST_F(PickTest, PickN_TakesTheBestScores_AndTheSmallerNameOfEquals) {
  Placement placement = PickN(2);
  EXPECT_EQ(Settle(placement), "ab");
  placement.policy.preferred = {Preferring(40, {{"zone", "y"}}),
                                Preferring(10, {{"tier", "gold"}})};
  EXPECT_EQ(Settle(placement), "ac");
  EXPECT_EQ(world_.WorkOn("c")->affinity_score, 50);
  EXPECT_EQ(world_.WorkOn("a")->affinity_score, 10);
}

TEST_F(PickTest, PickN_WithTheTieBreakOfKubeFleet_TakesTheLargerName) {
  Placement placement = PickN(2);
  placement.policy.kubefleet_tie_break = true;
  EXPECT_EQ(Settle(placement), "bc");
}

TEST_F(PickTest, PickN_IsSticky) {
  EXPECT_EQ(Settle(PickN(1)), "a");
  Placement placement = PickN(1);
  placement.policy.preferred = {Preferring(0, {})};  // another policy, equal scores
  world_.Member("0");
  EXPECT_EQ(Settle(placement), "a");
  placement.policy.preferred = {Preferring(5, {{"zone", "y"}})};
  EXPECT_EQ(Settle(placement), "c");  // a score goes before being there
  world_.Member("b").labels["zone"] = "y";
  EXPECT_EQ(Settle(), "c");
}

TEST_F(PickTest, PickN_GrowsAndShrinksWithoutMovingTheOthers) {
  Placement placement = PickN(1);
  placement.policy.preferred = {Preferring(5, {{"zone", "y"}}), Preferring(3, {{"tier", "iron"}})};
  EXPECT_EQ(Settle(placement), "c");
  placement.policy.number_of_clusters = 5;
  EXPECT_EQ(Settle(placement), "abc");  // there are no more
  world_.Member("d");
  EXPECT_EQ(Settle(), "abcd");
  placement.policy.number_of_clusters = 2;  // the lowest scores go
  EXPECT_EQ(Settle(placement), "bc");
  placement.policy.number_of_clusters = 0;
  EXPECT_EQ(Settle(placement), "");
}

TEST_F(PickTest, PickN_DropsFirstWhatIsNotBound) {
  Placement placement = PickN(3);
  placement.rollout.max_surge = {0, false};
  world_.Place(placement);
  world_.Step();
  world_.EditWork("a", [](Work& work) {
    work.state = WorkState::kScheduled;
    work.affinity_score = 100;
    work.manifests.clear();
  });
  placement.policy.number_of_clusters = 2;
  world_.Place(placement);
  world_.Step();
  EXPECT_EQ(world_.Rows(), "b:bound/0 c:bound/0");
}

TEST_F(PickTest, PickN_SpreadsOverDomains_OneAtATime) {
  Placement placement = PickN(2);
  placement.policy.spread = {{1, "zone", false}};
  world_.Member("d", {{"zone", "x"}});
  EXPECT_EQ(Settle(placement), "ac");
  placement.policy.number_of_clusters = 3;
  EXPECT_EQ(Settle(placement), "abc");
  placement.policy.number_of_clusters = 4;  // x would have 3, y has 1
  EXPECT_EQ(Settle(placement), "abc");
  placement.policy.spread = {{1, "zone", true}};
  EXPECT_EQ(Settle(placement), "abcd");
}

TEST_F(PickTest, Groups_AreTakenInTheirOrder) {
  Placement placement = PickN(2);
  placement.policy.preferred = {Preferring(50, {{"zone", "x"}})};
  placement.policy.groups = {{"first", {"c"}, {}, 600}, {"then", {"b"}, {}, 0}};
  EXPECT_EQ(Settle(placement), "bc");  // b at once: objects wait for no room
  placement.policy.number_of_clusters = 1;
  EXPECT_EQ(Settle(placement), "b");  // of those that are there the higher score stays
  StepWorld fresh;
  fresh.PutQueue("gpu");
  for (const char* name : {"a", "b", "c"}) fresh.Member(name, {{"zone", "x"}});
  fresh.Place(placement);
  fresh.Step();
  EXPECT_EQ(fresh.Rows(), "c:bound/0");
}

TEST_F(PickTest, ScoresStay_AsTheyWereWhenTheMemberWasPicked) {
  Placement placement = PickN(1);
  placement.policy.preferred = {Preferring(5, {{"zone", "y"}})};
  EXPECT_EQ(Settle(placement), "c");
  world_.Member("c").labels["zone"] = "x";
  EXPECT_EQ(Settle(), "c");
  EXPECT_EQ(world_.WorkOn("c")->affinity_score, 5);
}

TEST_F(PickTest, AWorkOfAPolicyThatIsNotKnown_Stays) {
  Placement placement = StepWorld::QueuePlacement();
  EXPECT_EQ(Settle(placement), "abc");
  for (const char* name : {"a", "b", "c"})
    world_.EditWork(name, [](Work& work) { work.policy.clear(); });
  world_.Member("b").labels.clear();
  EXPECT_EQ(Settle(), "abc");
  EXPECT_NE(world_.WorkOn("b")->policy, "");
}

}  // namespace
}  // namespace muster::propagation::testing
