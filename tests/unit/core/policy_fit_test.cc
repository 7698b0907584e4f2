#include "schedd/core/member/policy_fit.h"

#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "schedd/core/member/cluster_properties.h"
#include "schedd/core/member/cluster_spread.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

constexpr const char* kAvailableCpu = "resources.kubernetes-fleet.io/available-cpu";
constexpr const char* kAvailableMemory = "resources.kubernetes-fleet.io/available-memory";
constexpr const char* kAvailableGpu = "resources.kubernetes-fleet.io/available-nvidia.com/gpu";
constexpr std::int64_t kGi = std::int64_t{1} << 30;

PropertyExpression Expr(const std::string& name, PropertyOperator op,
                        const std::vector<std::string>& values) {
  PropertyExpression expression{name, op, 0, values};
  if (values.size() == 1) {
    if (const auto amount = ParseBillionths(values[0]); amount.ok()) {
      expression.amount = amount.value();
    }
  }
  return expression;
}

LabelSelector Equal(const LabelMap& labels) { return {labels, {}}; }
LabelSelector Having(const Requirement& requirement) { return {{}, {requirement}}; }
ClusterSelectorTerm Term(const LabelSelector& labels) { return {labels, {}}; }

PreferredClusterTerm Sorter(std::int32_t weight, const std::string& name, bool descending = true) {
  return {weight, {}, PropertySorter{name, descending}};
}

class PolicyFitTest : public ::testing::Test {
 protected:
  MemberCluster& Member(const std::string& name, const ResourceList& allocatable = {},
                        const LabelMap& labels = {}) {
    MemberCluster& member = world_.Member(name, allocatable);
    member.labels = labels;
    return member;
  }
  ClusterView& View(std::size_t member) { return world_.clusters()[member]; }

  // The ask of a job that ResourcePlacement ml/x governs with `policy_`.
  PlacementAsk Ask() const {
    PlacementAsk ask = ask_;
    auto placement = std::make_shared<Placement>();
    placement->ns = "ml";
    placement->name = "x";
    placement->policy = policy_;
    ask.placement = std::move(placement);
    return ask;
  }
  // "" if the member passes the filters, else "Filter: message".
  std::string Verdict(const PlacementAsk& ask, std::size_t member) const {
    const MemberRoom room(world_.clusters());
    const auto refusal = PolicyFit(ask, room, &placed_).Filter(room, member);
    return refusal ? std::string(refusal->filter) + ": " + refusal->message : "";
  }
  std::string Verdict(std::size_t member) const { return Verdict(Ask(), member); }
  std::vector<MemberScore> Scores(const std::vector<bool>& feasible = {}) const {
    const MemberRoom room(world_.clusters());
    std::vector<MemberScore> scores;
    PolicyFit(Ask(), room, &placed_).Score(room, feasible, true, &scores);
    return scores;
  }
  std::vector<std::int32_t> Affinity(const std::vector<bool>& feasible = {}) const {
    std::vector<std::int32_t> affinity;
    for (const auto& score : Scores(feasible)) affinity.push_back(score.affinity);
    return affinity;
  }
  std::vector<std::int32_t> Spread() const {
    std::vector<std::int32_t> spread;
    for (const auto& score : Scores()) spread.push_back(score.spread);
    return spread;
  }
  void Own(const JobPlacement& own) { ask_.own = std::make_shared<const JobPlacement>(own); }

  mutable World world_;
  PlacementPolicy policy_;
  PlacementAsk ask_;
  PlacedCounts placed_;
};

// --- properties

TEST_F(PolicyFitTest, Properties_ComeFromTheFactsOfTheMember_AndWhatIsFreeNow) {
  MemberCluster& east =
      Member("east", {{"cpu", 8000}, {"memory", 32 * kGi}, {"nvidia.com/gpu", 8}});
  east.capacity = {{"cpu", 10500}, {"nvidia.com/gpu", 8}};
  east.node_count = 3;
  east.version = "v1.34.1";
  east.properties.amounts["muster.io/cost.cpu"] = 48'000'000;
  east.properties.texts["tier"] = "gold";
  View(0).free = {{"cpu", 2500}, {"memory", 4 * kGi}, {"nvidia.com/gpu", -2}};
  const MemberRoom room(world_.clusters());
  struct Case {
    const char* name;
    const char* shown;  // "": unknown
  };
  for (const Case& one : std::vector<Case>{
           {"kubernetes-fleet.io/node-count", "3"},
           {"k8s.io/k8s-version", "v1.34.1"},
           {"resources.kubernetes-fleet.io/total-cpu", "10500m"},
           {"resources.kubernetes-fleet.io/total-memory", ""},  // capacity does not have it
           {"resources.kubernetes-fleet.io/allocatable-cpu", "8"},
           {"resources.kubernetes-fleet.io/allocatable-memory", "32Gi"},
           {"resources.kubernetes-fleet.io/available-cpu", "2500m"},
           {"resources.kubernetes-fleet.io/available-memory", "4Gi"},
           {"resources.kubernetes-fleet.io/available-nvidia.com/gpu", "0"},  // never below 0
           {"resources.kubernetes-fleet.io/available-ephemeral-storage", ""},
           {"resources.kubernetes-fleet.io/free-cpu", ""},
           {"muster.io/cost.cpu", "0.048"},
           {"tier", "gold"},
           {"colour", ""},
       }) {
    const std::string name = one.name;
    const ClusterProperty property(name, room);
    EXPECT_EQ(property.Shown(room, 0), one.shown) << name;
    EXPECT_EQ(property.Known(room, 0), *one.shown != '\0') << name;
  }
}

TEST_F(PolicyFitTest, Properties_OfMembersThatTellLess_FallBackToWhatIsThere) {
  MemberCluster& east = Member("east", {{"cpu", 8000}});
  east.nodes.resize(2);
  east.properties.texts["k8s.io/k8s-version"] = "v1.30.2";
  Member("west");
  const MemberRoom room(world_.clusters());
  const std::string total = "resources.kubernetes-fleet.io/total-cpu";
  EXPECT_EQ(ClusterProperty(total, room).Shown(room, 0), "8") << "no capacity: allocatable";
  EXPECT_FALSE(ClusterProperty(total, room).Known(room, 1));
  const std::string count(kNodeCountProperty);
  EXPECT_EQ(ClusterProperty(count, room).Shown(room, 0), "2") << "the machines that are known";
  EXPECT_FALSE(ClusterProperty(count, room).Known(room, 1));
  const std::string version(kVersionProperty);
  EXPECT_EQ(ClusterProperty(version, room).Shown(room, 0), "v1.30.2") << "declared";
}

TEST_F(PolicyFitTest, PropertyExpressions_CompareExactly_AndMissingOnesPassDoesNotExistOnly) {
  MemberCluster& east = Member("east", {{"cpu", 8000}});
  east.version = "v1.34.1+k3s1";
  east.properties.texts["tier"] = "gold";
  east.properties.amounts["racks"] = PropertyAmount{12} * 1'000'000'000;
  east.properties.texts["racks"] = "12000m";  // as it was written
  using Op = PropertyOperator;
  struct Case {
    PropertyExpression expression;
    bool passes;
  };
  const std::string cpu = kAvailableCpu;
  const std::string version(kVersionProperty);
  for (const Case& one : std::vector<Case>{
           {Expr(cpu, Op::kGe, {"8"}), true},
           {Expr(cpu, Op::kGe, {"8001m"}), false},
           {Expr(cpu, Op::kGt, {"8"}), false},
           {Expr(cpu, Op::kGt, {"7999m"}), true},
           {Expr(cpu, Op::kEq, {"8000m"}), true},
           {Expr(cpu, Op::kNe, {"8"}), false},
           {Expr(cpu, Op::kLt, {"8001m"}), true},
           {Expr(cpu, Op::kLe, {"7.9999999"}), false},
           {Expr("none", Op::kNe, {"8"}), false},
           {Expr("none", Op::kNotIn, {"8"}), false},
           {Expr("none", Op::kLt, {"8"}), false},
           {Expr("none", Op::kExists, {}), false},
           {Expr("none", Op::kDoesNotExist, {}), true},
           {Expr("tier", Op::kDoesNotExist, {}), false},
           {Expr("tier", Op::kExists, {}), true},
           {Expr("tier", Op::kIn, {"tin", "gold"}), true},
           {Expr("tier", Op::kIn, {"tin"}), false},
           {Expr("tier", Op::kNotIn, {"tin"}), true},
           {Expr("tier", Op::kNotIn, {"gold"}), false},
           {Expr("tier", Op::kGe, {"1"}), false},  // a text is no amount
           {Expr("racks", Op::kIn, {"12"}), true},
           {Expr("racks", Op::kIn, {"12.0"}), true},
           {Expr("racks", Op::kIn, {"12000m"}), true},
           {Expr("racks", Op::kIn, {"13"}), false},
           {Expr("racks", Op::kGt, {"11"}), true},
           {Expr("racks", Op::kNotIn, {"0.012k"}), false},
           {Expr(version, Op::kGe, {"1.34"}), true},
           {Expr(version, Op::kGt, {"v1.34.1"}), false},
           {Expr(version, Op::kLt, {"1.100"}), true},  // as numbers, not as a quantity
           {Expr(version, Op::kEq, {"v1.34.1"}), true},
           {Expr(version, Op::kIn, {"v1.34.1+k3s1"}), true},
       }) {
    const MemberRoom room(world_.clusters());
    EXPECT_EQ(PropertyTest(one.expression, room).Passes(room, 0), one.passes)
        << one.expression.name << " " << PropertyOperatorName(one.expression.op) << " "
        << (one.expression.values.empty() ? "" : one.expression.values[0]);
  }
}

TEST(ReadVersionTest, WhatIsNoVersion_IsNone) {
  EXPECT_EQ(ReadVersion("v1.31.2-eks-5678"), (VersionNumbers{1, 31, 2}));
  EXPECT_EQ(ReadVersion("1.30"), (VersionNumbers{1, 30}));
  for (const char* text : {"", "v", "1.", ".1", "1..2", "1.x", "gold", "1.99999999999999999999"}) {
    EXPECT_FALSE(ReadVersion(text).has_value()) << text;
  }
  EXPECT_EQ(CompareVersions({1, 30}, {1, 30, 0}), 0);
  EXPECT_LT(CompareVersions({1, 9, 9}, {1, 10}), 0);
  EXPECT_GT(CompareVersions({1, 30, 1}, {1, 30}), 0);
}

// --- filters

TEST_F(PolicyFitTest, JobThatNothingGoverns_IsForEveryMember_AndItsTaintsAreNotJudgedHere) {
  Member("east").taints = {{"gpu", "a100", "NoSchedule"}};
  Member("west");
  EXPECT_EQ(Verdict(ask_, 0), "");
  EXPECT_EQ(Verdict(ask_, 1), "");
  const MemberRoom room(world_.clusters());
  const PolicyFit fit(ask_, room, nullptr);
  EXPECT_FALSE(fit.judges_taints());
  EXPECT_FALSE(fit.kubefleet_tie_break());
  EXPECT_EQ(fit.Group(1), 0u);
}

TEST_F(PolicyFitTest, PickFixed_TakesOnlyTheListed_WhateverTheirTaints) {
  policy_.type = PlacementType::kPickFixed;
  policy_.cluster_names = {"west", "far"};
  Member("east");
  Member("west").taints = {{"gpu", "a100", "NoSchedule"}};
  EXPECT_EQ(Verdict(0), "Placement: ResourcePlacement ml/x names only west, far");
  EXPECT_EQ(Verdict(1), "");
}

TEST_F(PolicyFitTest, PinnedJob_RunsThereOnly_WhateverItsTaints_ButTheAffinityHolds) {
  Own({{}, "", "west", {}, false});
  Member("east");
  Member("west", {}, {{"gpu", "a100"}}).taints = {{"gpu", "a100", "NoExecute"}};
  for (const bool governed : {false, true}) {
    const PlacementAsk ask = governed ? Ask() : ask_;
    EXPECT_EQ(Verdict(ask, 0), "Placement: the job is pinned to member cluster west");
    EXPECT_EQ(Verdict(ask, 1), "");
  }
  policy_.required = {Term(Equal({{"gpu", "h100"}}))};
  EXPECT_EQ(Verdict(1), "ClusterAffinity: does not have label gpu=h100 but gpu=a100");
  Own({{}, "", "north", {}, false});
  EXPECT_EQ(Verdict(ask_, 0),
            "Placement: the job is pinned to member cluster north, which does not exist");
}

TEST_F(PolicyFitTest, NoClusterWanted_OrAnObstacle_TurnsEveryMemberAway) {
  Member("east");
  policy_.type = PlacementType::kPickN;
  policy_.number_of_clusters = 0;
  EXPECT_EQ(Verdict(0),
            "Placement: ResourcePlacement ml/x picks no cluster: its numberOfClusters is 0");
  policy_.number_of_clusters = 3;
  EXPECT_EQ(Verdict(0), "");
  ask_.obstacle = "names nothing";
  EXPECT_EQ(Verdict(ask_, 0), "Placement: names nothing");
}

TEST_F(PolicyFitTest, Taints_AreJudgedByTheTolerationsOfThePolicy) {
  MemberCluster& east = Member("east");
  east.taints = {{"soft", "", "PreferNoSchedule"}, {"gpu", "a100", "NoSchedule"}};
  EXPECT_EQ(Verdict(0),
            "TaintToleration: has taint gpu=a100:NoSchedule, which ResourcePlacement ml/x does not "
            "tolerate");
  policy_.tolerations = {{"gpu", "Equal", "h100", "", {}}};
  EXPECT_NE(Verdict(0), "");
  policy_.tolerations.push_back({"gpu", "Exists", "", "NoSchedule", {}});
  EXPECT_EQ(Verdict(0), "");
  east.taints.push_back({"gone", "", "NoExecute"});
  EXPECT_EQ(Verdict(0),
            "TaintToleration: has taint gone:NoExecute, which ResourcePlacement ml/x does not "
            "tolerate");
}

TEST_F(PolicyFitTest, RequiredTerms_AreOneOrTheOther_AllOfATermMustMatch) {
  Member("east", {{"nvidia.com/gpu", 16}}, {{"region", "eu"}});
  View(0).free = {{"nvidia.com/gpu", 4}};
  ClusterSelectorTerm gpus;
  gpus.labels.match_labels = {{"region", "eu"}};
  gpus.properties = {Expr(kAvailableGpu, PropertyOperator::kGe, {"8"})};
  policy_.required = {gpus};
  EXPECT_EQ(Verdict(0),
            "ClusterAffinity: " + std::string(kAvailableGpu) + " is 4, must be at least 8");
  ClusterSelectorTerm other;
  other.labels.match_expressions = {{"region", "In", {"us", "asia"}}, {"tier", "Exists", {}}};
  policy_.required = {other, gpus};
  EXPECT_EQ(Verdict(0), "ClusterAffinity: " + std::string(kAvailableGpu) +
                            " is 4, must be at least 8 (the nearest of 2 terms that "
                            "ResourcePlacement ml/x requires one of)");
  policy_.required = {other};
  EXPECT_EQ(Verdict(0),
            "ClusterAffinity: has label region=eu, must be one of us, asia; does not have label "
            "tier");
  View(0).free = {{"nvidia.com/gpu", 8}};
  policy_.required = {other, gpus};
  EXPECT_EQ(Verdict(0), "");
  policy_.required = {ClusterSelectorTerm{}};
  EXPECT_EQ(Verdict(0), "") << "an empty term matches every member";
}

TEST_F(PolicyFitTest, RequiredTerms_SeeWhatIsFreeNow_NotWhenItWasCompiled) {
  Member("east", {{"cpu", 8000}});
  ClusterSelectorTerm term;
  term.properties = {Expr(kAvailableCpu, PropertyOperator::kGe, {"8"})};
  policy_.required = {term};
  const PlacementAsk ask = Ask();
  const MemberRoom full(world_.clusters());
  const PolicyFit fit(ask, full, nullptr);
  EXPECT_FALSE(fit.Filter(full, 0).has_value());
  View(0).free = {{"cpu", 7000}};
  const MemberRoom less(world_.clusters());
  EXPECT_TRUE(fit.Filter(less, 0).has_value());
}

TEST_F(PolicyFitTest, SelectorsMayNameMembers_ByTheLabelOfKubeFleet) {
  Member("east");
  Member("west");
  policy_.required = {Term(Having({"kubernetes-fleet.io/member-name", "In", {"west"}}))};
  EXPECT_NE(Verdict(0), "");
  EXPECT_EQ(Verdict(1), "");
}

TEST_F(PolicyFitTest, Datasets_AreRequired_OrMoreOfThemIsBetter) {
  Member("east").datasets = {"imagenet", "laion"};
  Member("west").datasets = {"laion", "laion"};
  Member("north");
  Own({{}, "", "", {"imagenet", "laion", "pile"}, false});
  EXPECT_EQ(Verdict(2), "");
  EXPECT_EQ(Affinity(), (std::vector<std::int32_t>{67, 33, 0}));
  EXPECT_EQ(Scores()[0].terms.back().term, "muster.io/datasets");
  Own({{}, "", "", {"imagenet", "laion"}, true});
  EXPECT_EQ(Verdict(0), "");
  EXPECT_EQ(Verdict(1), "Datasets: does not have data set imagenet, which the job requires");
  EXPECT_EQ(Verdict(2),
            "Datasets: does not have data sets imagenet, laion, which the job requires");
  EXPECT_EQ(Affinity(), (std::vector<std::int32_t>{0, 0, 0}));
}

TEST_F(PolicyFitTest, AvoidedMember_IsNotTakenUntilThen) {
  Member("east");
  Member("west");
  ask_.avoided = {{"west", {1'795'341'600'000'000}}};
  EXPECT_EQ(Verdict(ask_, 0), "");
  EXPECT_EQ(Verdict(ask_, 1),
            "AvoidedCluster: an earlier attempt did not start there; avoided until "
            "2026-11-22T10:00:00Z");
}

TEST_F(PolicyFitTest, Groups_OpenOneAfterTheOther) {
  Member("cloud-1", {}, {{"kind", "cloud"}});
  Member("own");
  Member("partner");
  Member("other");
  policy_.groups = {{"reserved", {"own"}, {}, 300},
                    {"friends", {"partner", "own"}, {}, 60},
                    {"cloud", {}, Equal({{"kind", "cloud"}}), 0}};
  struct Case {
    std::int64_t waited_s;
    std::vector<std::string> verdicts;  // cloud-1, own, partner
  };
  const std::string friends = "ClusterGroup: group friends is tried after 300 s of waiting";
  const std::string cloud = "ClusterGroup: group cloud is tried after 360 s of waiting";
  for (const Case& one : std::vector<Case>{{0, {cloud, "", friends}},
                                           {299, {cloud, "", friends}},
                                           {300, {cloud, "", ""}},
                                           {359, {cloud, "", ""}},
                                           {360, {"", "", ""}}}) {
    ask_.waited_s = one.waited_s;
    for (std::size_t i = 0; i < one.verdicts.size(); ++i) {
      EXPECT_EQ(Verdict(i), one.verdicts[i]) << one.waited_s << " s, member " << i;
    }
  }
  EXPECT_EQ(Verdict(3), "ClusterGroup: is in none of the cluster groups of ResourcePlacement ml/x");
  const PlacementAsk ask = Ask();
  const MemberRoom room(world_.clusters());
  const PolicyFit fit(ask, room, nullptr);
  EXPECT_EQ(fit.Group(1), 0u) << "the first group that has it";
  EXPECT_EQ(fit.Group(2), 1u);
  EXPECT_EQ(fit.Group(0), 2u);
}

TEST_F(PolicyFitTest, NextGroupAfter_IsTheNextTimeThatOneOpens) {
  policy_.groups = {{"a", {}, {}, 300}, {"b", {}, {}, 0}, {"c", {}, {}, 60}, {"d", {}, {}, 7}};
  EXPECT_EQ(NextGroupAfter(policy_, 0), 300);
  EXPECT_EQ(NextGroupAfter(policy_, 299), 300);
  EXPECT_EQ(NextGroupAfter(policy_, 300), 360);
  EXPECT_EQ(NextGroupAfter(policy_, 360), -1) << "what d waits for, nothing comes after";
  EXPECT_EQ(NextGroupAfter(PlacementPolicy{}, 0), -1);
}

// --- scores

TEST_F(PolicyFitTest, TheGuidesWeights_GiveSeventyToTheBestInBoth) {
  policy_.type = PlacementType::kPickN;
  policy_.preferred = {Sorter(40, kAvailableCpu), Sorter(30, kAvailableMemory)};
  for (const char* name : {"cluster-1", "cluster-2", "cluster-3"}) {
    Member(name, {{"cpu", 16000}, {"memory", 64 * kGi}});
  }
  View(0).free = {{"cpu", 4000}, {"memory", 16 * kGi}};
  View(1).free = {{"cpu", 10000}, {"memory", 8 * kGi}};
  View(2).free = {{"cpu", 14000}, {"memory", 48 * kGi}};
  EXPECT_EQ(Affinity(), (std::vector<std::int32_t>{6, 24, 70}));  // 30 * 8/40; 40 * 6/10
  const auto scores = Scores();
  ASSERT_EQ(scores[1].terms.size(), 2u);
  EXPECT_EQ(scores[1].terms[0].term, std::string(kAvailableCpu) + " Descending");
  EXPECT_EQ(scores[1].terms[0].weight, 40);
  EXPECT_EQ(scores[1].terms[0].score, 24);
  EXPECT_EQ(scores[1].terms[1].score, 0);
  EXPECT_EQ(PickedSentence("cluster-3", scores[2]),
            "Successfully scheduled resources for placement in \"cluster-3\" (affinity score: 70, "
            "topology spread score: 0): picked by scheduling policy");
}

TEST_F(PolicyFitTest, SorterScores_RoundHalvesAwayFromZero_AndMissingOrEqualGivesNothing) {
  const auto cost = [](const char* text) { return ParseBillionths(text).value(); };
  Member("a").properties.amounts["cost"] = cost("1");
  Member("b").properties.amounts["cost"] = cost("2");
  Member("c").properties.amounts["cost"] = cost("3");
  Member("d").properties.texts["cost"] = "dear";
  struct Case {
    PreferredClusterTerm term;
    std::vector<std::int32_t> scores;
  };
  for (const Case& one : std::vector<Case>{
           {Sorter(5, "cost"), {0, 3, 5, 0}},
           {Sorter(-5, "cost"), {0, -3, -5, 0}},
           {Sorter(5, "cost", false), {5, 3, 0, 0}},
           {Sorter(-5, "cost", false), {-5, -3, 0, 0}},
           {Sorter(100, "nothing"), {0, 0, 0, 0}},
           {Sorter(0, "cost"), {0, 0, 0, 0}},
           {{7, {}, std::nullopt}, {7, 7, 7, 7}},
           {{7, Equal({{"kubernetes-fleet.io/member-name", "b"}}), std::nullopt}, {0, 7, 0, 0}},
           {{5, Having({"kubernetes-fleet.io/member-name", "NotIn", {"c"}}),
             PropertySorter{"cost", true}},
            {0, 3, 0, 0}},
       }) {
    policy_.preferred = {one.term};
    EXPECT_EQ(Affinity(), one.scores) << one.term.weight;
  }
  policy_.preferred = {Sorter(0, "cost")};
  EXPECT_TRUE(Scores()[0].terms.empty()) << "a term of weight 0 is none";
  View(1).member.properties.amounts["cost"] = cost("1");
  View(2).member.properties.amounts["cost"] = cost("1");
  policy_.preferred = {Sorter(100, "cost")};
  EXPECT_EQ(Affinity(), (std::vector<std::int32_t>{0, 0, 0, 0})) << "all the same";
}

TEST_F(PolicyFitTest, Extremes_AreOverAllMembers_UnlessOverFeasibleOnes) {
  Member("a", {{"cpu", 2000}});
  Member("b", {{"cpu", 4000}});
  Member("huge", {{"cpu", 102'000}}).cordoned = true;
  policy_.preferred = {Sorter(50, kAvailableCpu)};
  const std::vector<bool> feasible = {true, true, false};
  EXPECT_EQ(Affinity(feasible), (std::vector<std::int32_t>{0, 1, 50}));
  policy_.score_over_feasible = true;
  EXPECT_EQ(Affinity(feasible), (std::vector<std::int32_t>{0, 50, 0}));
}

TEST_F(PolicyFitTest, Spread_CountsThePlacementsJobsByDomain_AndAddsWhatTheCyclePlaces) {
  policy_.type = PlacementType::kPickN;
  policy_.spread = {{1, "zone", false}};
  Member("a1", {}, {{"zone", "a"}});
  Member("a2", {}, {{"zone", "a"}});
  Member("b", {}, {{"zone", "b"}});
  Member("nowhere");
  EXPECT_EQ(Spread(), (std::vector<std::int32_t>{-1, -1, -1, 0})) << "nothing placed: all the same";
  auto& counts = placed_[{"ml", "x"}];
  counts = {{"a2", 1}, {"gone", 9}};
  placed_[{"ml", "y"}] = {{"b", 5}};
  EXPECT_EQ(Verdict(0),
            "TopologySpreadConstraints: zone=a has 1 job of it, the least is 0, maxSkew is 1");
  EXPECT_EQ(Verdict(2), "");
  EXPECT_EQ(Verdict(3), "") << "without the label it is not constrained";
  EXPECT_EQ(Spread(), (std::vector<std::int32_t>{-1, -1, 1, 0}));

  const PlacementAsk ask = Ask();
  const MemberRoom room(world_.clusters());
  const PolicyFit fit(ask, room, &placed_);
  EXPECT_TRUE(fit.Filter(room, 0).has_value());
  counts["b"] += 1;
  EXPECT_FALSE(fit.Filter(room, 0).has_value()) << "the cycle placed one in b";
}

TEST_F(PolicyFitTest, SpreadDoesNotWaitForCordonedMembers) {
  policy_.spread = {{1, "zone", false}};
  Member("a", {}, {{"zone", "a"}});
  Member("b", {}, {{"zone", "b"}}).cordoned = true;
  placed_[{"ml", "x"}] = {{"a", 5}};
  EXPECT_EQ(Verdict(0), "");
  world_.clusters()[1].member.cordoned = false;
  EXPECT_NE(Verdict(0), "") << "b is behind, and takes them";
  world_.clusters()[1].member.healthy = false;
  EXPECT_NE(Verdict(0), "") << "it answers again one day";
}

TEST_F(PolicyFitTest, SpreadThatIsLostBecauseJobsEnded_TakesTheDomainsThatAreBehind) {
  policy_.spread = {{1, "zone", false}};
  Member("a", {}, {{"zone", "a"}});
  Member("b", {}, {{"zone", "b"}});
  Member("c", {}, {{"zone", "c"}});
  placed_[{"ml", "x"}] = {{"c", 5}, {"b", 1}};
  EXPECT_EQ(Verdict(0), "");
  EXPECT_NE(Verdict(1), "");
  EXPECT_NE(Verdict(2), "");
}

TEST_F(PolicyFitTest, SpreadScheduledAnyway_CostsAThousandWhereItBreaks) {
  policy_.spread = {{1, "zone", true}};
  Member("a", {}, {{"zone", "a"}});
  Member("b", {}, {{"zone", "b"}});
  placed_[{"ml", "x"}] = {{"a", 1}};
  EXPECT_EQ(Verdict(0), "");
  EXPECT_EQ(Spread(), (std::vector<std::int32_t>{-1000, 1}));
  EXPECT_EQ(Scores()[0].terms[0].term, "topology spread over zone");
}

TEST(SpreadRuleTest, SkewChange_IsAsKubeFleetCountsIt) {
  struct Case {
    std::vector<std::int32_t> jobs;    // by domain
    std::vector<std::int32_t> change;  // by domain
    std::vector<bool> breaks;          // with maxSkew 2
  };
  for (const Case& one : std::vector<Case>{
           {{0}, {1}, {false}},
           {{3, 3}, {1, 1}, {false, false}},
           {{1, 2}, {-1, 1}, {false, false}},
           {{0, 2}, {-1, 1}, {false, true}},
           {{0, 0, 2}, {0, 0, 1}, {false, false, true}},
           {{0, 1, 2}, {-1, 0, 1}, {false, false, true}},
           {{1, 1, 2}, {0, 0, 1}, {false, false, false}},
       }) {
    ClusterSpread asked{2, "zone", false};
    std::vector<std::string> members;
    std::vector<LabelMap> labels;
    SpreadRule::MemberCounts counts;
    for (std::size_t i = 0; i < one.jobs.size(); ++i) {
      members.push_back("m" + std::to_string(i));
      labels.push_back({{"zone", "z" + std::to_string(i)}});
      counts[members[i]] = one.jobs[i];
    }
    SpreadRule rule(asked, members, [&](std::size_t i) -> const LabelMap& { return labels[i]; });
    rule.Count(counts);
    for (std::size_t i = 0; i < one.jobs.size(); ++i) {
      EXPECT_EQ(rule.SkewChange(i), one.change[i]) << one.jobs.size() << " domains, " << i;
      EXPECT_EQ(rule.Breaks(i), one.breaks[i]) << one.jobs.size() << " domains, " << i;
    }
  }
}

TEST(MemberPropertyTest, ResourceProperties_AreTakenApartAtTheFirstDash) {
  ResourceProperty property;
  ASSERT_TRUE(
      ReadResourceProperty("resources.kubernetes-fleet.io/total-ephemeral-storage", &property));
  EXPECT_EQ(property.measure, ResourceMeasure::kTotal);
  EXPECT_EQ(property.resource, "ephemeral-storage");
  ASSERT_TRUE(
      ReadResourceProperty("resources.kubernetes-fleet.io/available-nvidia.com/gpu", &property));
  EXPECT_EQ(property.measure, ResourceMeasure::kAvailable);
  EXPECT_EQ(property.resource, "nvidia.com/gpu");
  for (const char* name :
       {"resources.kubernetes-fleet.io/total", "resources.kubernetes-fleet.io/total-",
        "resources.kubernetes-fleet.io/used-cpu", "total-cpu", "kubernetes-fleet.io/node-count"}) {
    EXPECT_FALSE(ReadResourceProperty(name, &property)) << name;
  }
}

TEST(MemberPropertyTest, RealOf_RoundsOnce) {
  EXPECT_EQ(RealOf(ParseBillionths("0.1").value()), 0.1);
  EXPECT_EQ(RealOf(ParseBillionths("1234m").value()), 1.234);
  EXPECT_EQ(RealOf(ParseBillionths("64Gi").value()), 68719476736.0);
  EXPECT_EQ(RealOf(ParseBillionths("-2").value()), -2.0);
}

}  // namespace
}  // namespace muster::core::testing
