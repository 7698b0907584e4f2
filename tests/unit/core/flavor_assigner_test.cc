// Flavor assignment: order, eligibility, borrowing, gangs, and the exact sentences of rule A33.
#include "schedd/core/flavor/flavor_assigner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/quantity.h"
#include "tests/unit/core/flavor_world.h"

namespace muster::core::testing {
namespace {

using ::testing::HasSubstr;

class FlavorAssignerTest : public ::testing::Test {
 protected:
  Assignment Assign(const PodSets& pod_sets) { return world_.Assign(pod_sets); }
  void Take(const char* queue, const char* flavor, const char* resource, std::int64_t amount) {
    world_.Take(queue, flavor, resource, amount);
  }
  static bool Fits(const Assignment& assignment) { return assignment.Mode() == FlavorMode::kFit; }

  FlavorWorld world_;
};

TEST_F(FlavorAssignerTest, FirstFlavorThatFits_ServesAllResourcesOfTheGroup) {
  world_.Queue("q", "",
               {{"small", "cpu", 2000},
                {"small", "memory", 100},
                {"large", "cpu", 9000},
                {"large", "memory", 100}});
  const auto assignment = Assign({Pods("main", 3, {{"cpu", 1000}, {"memory", 10}})});
  ASSERT_TRUE(Fits(assignment)) << assignment.Message();
  const auto admission = assignment.ToAdmission("q");
  const auto& pods = admission->pod_sets.at(0);
  EXPECT_EQ(admission->cluster_queue, "q");
  EXPECT_EQ(pods.name, "main");
  EXPECT_EQ(pods.count, 3);
  EXPECT_EQ(pods.flavors,
            (std::map<std::string, std::string>{{"cpu", "large"}, {"memory", "large"}}));
  EXPECT_EQ(pods.usage, (ResourceList{{"cpu", 3000}, {"memory", 30}}));
  EXPECT_EQ(FlavorOf(Assign({Pods("main", 2, {{"cpu", 1000}})}), 0, "cpu"), "small");
}

TEST_F(FlavorAssignerTest, QuotaInUse_SendsTheJobToTheNextFlavor_OrSaysHowMuchIsMissing) {
  world_.Queue("q", "", {{"spot", "cpu", 10000}, {"on-demand", "cpu", 4000}});
  Take("q", "spot", "cpu", 8000);
  EXPECT_EQ(FlavorOf(Assign({Pods("main", 1, {{"cpu", 3000}})}), 0, "cpu"), "on-demand");
  Take("q", "on-demand", "cpu", 2000);
  const auto assignment = Assign({Pods("main", 1, {{"cpu", 3500}})});
  EXPECT_EQ(assignment.Mode(), FlavorMode::kPreempt) << "quota would do, were it not in use";
  EXPECT_EQ(assignment.Message(),
            "couldn't assign flavors to pod set main: "
            "insufficient unused quota for cpu in flavor on-demand, 1500m more needed, "
            "insufficient unused quota for cpu in flavor spot, 1500m more needed");
}

TEST_F(FlavorAssignerTest, RequestBeyondEveryQuota_IsExceedsMaxQuota_WithTheMaximum) {
  world_.Queue("q", "", {{"default", "nvidia.com/gpu", 8}});
  const auto assignment = Assign({Pods("main", 4, {{"nvidia.com/gpu", 4}})});
  EXPECT_EQ(assignment.no_fit_reason, Reason::kExceedsMaxQuota);
  EXPECT_EQ(
      assignment.Message(),
      "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor "
      "default, previously considered podsets requests (0) + current podset request (16) > "
      "maximum capacity (8)");
}

TEST_F(FlavorAssignerTest, EarlierPodSetsOfTheSameWorkload_CountAgainstTheQuota) {
  world_.Queue("q", "", {{"default", "cpu", 10}});
  EXPECT_TRUE(Fits(Assign({Pods("a", 1, {{"cpu", 6}}), Pods("b", 1, {{"cpu", 4}})})));
  const auto assignment = Assign({Pods("a", 1, {{"cpu", 6}}), Pods("b", 1, {{"cpu", 5}})});
  EXPECT_FALSE(Fits(assignment)) << "each alone fits, the gang does not";
  EXPECT_EQ(assignment.no_fit_reason, Reason::kExceedsMaxQuota);
  EXPECT_EQ(assignment.Message(),
            "couldn't assign flavors to pod set b: insufficient quota for cpu in flavor default, "
            "previously considered podsets requests (6m) + current podset request (5m) > maximum "
            "capacity (10m)");
}

TEST_F(FlavorAssignerTest, SeveralPodSetsThatMustWait_AreAllNamed) {
  world_.Queue("q", "", {{"default", "gpu", 10}});
  Take("q", "default", "gpu", 8);
  const auto assignment = Assign({Pods("a", 1, {{"gpu", 4}}), Pods("b", 1, {{"gpu", 3}})});
  EXPECT_EQ(assignment.Mode(), FlavorMode::kPreempt);
  EXPECT_EQ(
      assignment.Message(),
      "couldn't assign flavors to pod set a: insufficient unused quota for gpu in flavor "
      "default, 2 more needed; couldn't assign flavors to pod set b: insufficient unused quota "
      "for gpu in flavor default, 5 more needed");
}

TEST_F(FlavorAssignerTest, PodSetsOfAGang_MayGetDifferentFlavors) {
  world_.Queue("q", "", {{"spot", "cpu", 4}, {"on-demand", "cpu", 4}});
  const auto assignment = Assign({Pods("a", 1, {{"cpu", 3}}), Pods("b", 1, {{"cpu", 3}})});
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "spot");
  EXPECT_EQ(FlavorOf(assignment, 1, "cpu"), "on-demand");
}

TEST_F(FlavorAssignerTest, UncoveredResource_IsRefused_UnlessNothingOfItIsRequested) {
  world_.Queue("q", "", {{"default", "cpu", 10}});
  const auto assignment = Assign({Pods("main", 1, {{"cpu", 1}, {"nvidia.com/gpu", 1}})});
  EXPECT_FALSE(Fits(assignment));
  EXPECT_EQ(assignment.Message(),
            "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in "
            "ClusterQueue");
  const auto zero = Assign({Pods("main", 1, {{"cpu", 1}, {"nvidia.com/gpu", 0}})});
  ASSERT_TRUE(Fits(zero));
  EXPECT_EQ(zero.pod_sets[0].flavors.count("nvidia.com/gpu"), 0u);
}

TEST_F(FlavorAssignerTest, CoveredPods_AreChargedByCount) {
  world_.Queue("q", "", {{"default", "cpu", 100}, {"default", "pods", 5}});
  const auto assignment = Assign({Pods("main", 5, {{"cpu", 1}})});
  ASSERT_TRUE(Fits(assignment));
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].usage,
            (ResourceList{{"cpu", 5}, {"pods", 5}}));
  EXPECT_EQ(FlavorOf(assignment, 0, "pods"), "default");
  EXPECT_THAT(Assign({Pods("main", 6, {{"cpu", 1}})}).Message(),
              HasSubstr("insufficient quota for pods in flavor default"));
}

TEST_F(FlavorAssignerTest, TwoResourceGroups_AreServedIndependently) {
  auto& queue = world_.Queue("q", "", {{"default", "cpu", 10}});
  queue.resource_groups.push_back(Group({{"a100", "gpu", 1}, {"h100", "gpu", 8}}));
  world_.Flavor("a100").Flavor("h100");
  const auto assignment = Assign({Pods("main", 2, {{"cpu", 1}, {"gpu", 2}})});
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "default");
  EXPECT_EQ(FlavorOf(assignment, 0, "gpu"), "h100");
}

TEST_F(FlavorAssignerTest, Taint_NeedsATolerationOfThePodsOrOfTheFlavor) {
  const Taint taint{"instance", "spot", "NoSchedule"};
  world_.Queue("q", "", {{"tainted", "cpu", 10}});
  world_.Flavor("tainted", {}, {taint});
  const auto refused = Assign({Pods("main", 1, {{"cpu", 1}})});
  EXPECT_EQ(refused.no_fit_reason, Reason::kNoMatchingFlavor);
  EXPECT_EQ(refused.Message(),
            "couldn't assign flavors to pod set main: "
            "untolerated taint {instance spot NoSchedule <nil>} in flavor tainted");
  SchedulingConstraints pods;
  pods.tolerations = {{"instance", "Equal", "spot", "NoSchedule", {}}};
  EXPECT_TRUE(Fits(Assign({With(Pods("main", 1, {{"cpu", 1}}), pods)})));
  world_.config.flavors["tainted"].tolerations = {{"instance", "Exists", "", "", {}}};
  EXPECT_TRUE(Fits(Assign({Pods("main", 1, {{"cpu", 1}})})));
  world_.Flavor("tainted", {}, {{"instance", "spot", "PreferNoSchedule"}});
  EXPECT_TRUE(Fits(Assign({Pods("main", 1, {{"cpu", 1}})}))) << "a preference repels nobody";
}

TEST_F(FlavorAssignerTest, NodeSelectorAndAffinity_ChooseAmongFlavorLabels_AndIgnoreOtherKeys) {
  world_.Queue("q", "", {{"one", "cpu", 10}, {"two", "cpu", 10}});
  world_.Flavor("one", {{"type", "one"}, {"size", "7"}});
  world_.Flavor("two", {{"type", "two"}, {"size", "9"}});
  const auto flavor = [&](const SchedulingConstraints& pods) {
    return FlavorOf(Assign({With(Pods("main", 1, {{"cpu", 1}}), pods)}), 0, "cpu");
  };
  SchedulingConstraints pods;
  pods.node_selector = {{"type", "two"}, {"kubernetes.io/os", "linux"}};
  EXPECT_EQ(flavor(pods), "two");
  pods.node_selector = {{"kubernetes.io/os", "linux"}};
  EXPECT_EQ(flavor(pods), "one");
  pods.node_selector = {{"type", "three"}};
  EXPECT_EQ(
      flavor(pods),
      "no fit: couldn't assign flavors to pod set main: flavor one doesn't match node affinity, "
      "flavor two doesn't match node affinity");
  pods = {};
  pods.has_required_affinity = true;
  pods.required_terms = {{{{"type", "NotIn", {"one"}}, {"zone", "In", {"x"}}}}};
  EXPECT_EQ(flavor(pods), "two");
  pods.required_terms.push_back({{{"zone", "In", {"x"}}}});
  EXPECT_EQ(flavor(pods), "one") << "a term left empty matches all";
  pods.required_terms = {{{{"size", "Gt", {"8"}}}}};
  EXPECT_EQ(flavor(pods), "two");
  world_.Flavor("one", {{"type", "one"}});
  EXPECT_EQ(flavor(pods), "one") << "a key that is no label of this very flavor does not count";
}

TEST_F(FlavorAssignerTest, MissingFlavor_IsNamed) {
  world_.Queue("q", "", {{"gone", "cpu", 10}});
  world_.config.flavors.clear();
  EXPECT_EQ(Assign({Pods("main", 1, {{"cpu", 1}})}).Message(),
            "couldn't assign flavors to pod set main: flavor gone not found");
}

TEST_F(FlavorAssignerTest, WhenCanBorrow_DecidesWhetherALaterOwnFlavorIsBetterThanBorrowing) {
  auto& queue = world_.Queue("q", "team", {{"first", "cpu", 1}, {"second", "cpu", 10}});
  world_.Queue("other", "team", {{"first", "cpu", 10}, {"second", "cpu", 0}});
  const PodSets pods = {Pods("main", 1, {{"cpu", 5}})};
  auto assignment = Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "first");
  EXPECT_EQ(assignment.borrowing_level, 1);
  queue.when_can_borrow = FungibilityPolicy::kTryNextFlavor;
  assignment = Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "second");
  EXPECT_EQ(assignment.borrowing_level, 0);
  Take("q", "second", "cpu", 8);
  assignment = Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "cpu"), "first") << "nothing better came: the first one again";
}

TEST_F(FlavorAssignerTest, MildestReasonOfTheFlavors_IsGiven) {
  world_.Queue("q", "", {{"tiny", "cpu", 1}, {"big", "cpu", 10}, {"tainted", "cpu", 10}});
  world_.Flavor("tainted", {}, {{"k", "v", "NoExecute"}});
  Take("q", "big", "cpu", 9);
  EXPECT_EQ(Assign({Pods("main", 1, {{"cpu", 5}})}).Mode(), FlavorMode::kPreempt);
  EXPECT_EQ(Assign({Pods("main", 1, {{"cpu", 50}})}).no_fit_reason, Reason::kExceedsMaxQuota);
}

TEST_F(FlavorAssignerTest, WorstReasonOfThePodSets_IsGiven) {
  auto& queue = world_.Queue("q", "", {{"default", "cpu", 10}});
  queue.resource_groups.push_back(Group({{"tainted", "gpu", 10}}));
  world_.Flavor("tainted", {}, {{"k", "v", "NoExecute"}});
  Take("q", "default", "cpu", 9);
  EXPECT_EQ(Assign({Pods("a", 1, {{"cpu", 5}}), Pods("b", 1, {{"gpu", 5}})}).no_fit_reason,
            Reason::kNoMatchingFlavor);
}

TEST_F(FlavorAssignerTest, OverflowingRequest_IsRefused_EvenByUnlimitedQuota) {
  world_.Queue("q", "", {{"default", "gpu", kUnlimited}});
  const auto assignment = Assign({Pods("main", 4, {{"gpu", kUnlimited / 2}})});
  EXPECT_FALSE(Fits(assignment));
  EXPECT_EQ(assignment.no_fit_reason, Reason::kExceedsMaxQuota);
}

TEST_F(FlavorAssignerTest, Verdicts_GiveTheNumbersOfEveryFlavorTried) {
  world_.Queue("q", "team", {{"a100", "nvidia.com/gpu", 16}, {"h100", "nvidia.com/gpu", 4}});
  world_.Queue("other", "team", {{"a100", "nvidia.com/gpu", 8}});
  Take("q", "a100", "nvidia.com/gpu", 11);
  std::vector<FlavorVerdict> verdicts;
  AssignRequest request;
  request.verdicts = &verdicts;
  EXPECT_FALSE(
      Fits(world_.Assign(world_.Job({Pods("main", 2, {{"nvidia.com/gpu", 8}})}), request)));
  ASSERT_EQ(verdicts.size(), 2u);
  const auto& a100 = verdicts[0];
  EXPECT_EQ(a100.message, "needs 16 nvidia.com/gpu; q can use 24, 11 are used, 13 free");
  EXPECT_EQ(a100.reason, Reason::kWaitingForQuota);
  EXPECT_EQ(a100.requested, 16);
  EXPECT_EQ(a100.potential, 24);
  EXPECT_EQ(a100.available, 13);
  EXPECT_EQ(a100.used, 11);
  EXPECT_EQ(a100.nominal, 16);
  EXPECT_EQ(verdicts[1].flavor, "h100");
  EXPECT_EQ(verdicts[1].reason, Reason::kExceedsMaxQuota);
}

TEST_F(FlavorAssignerTest, WorkloadWithoutRequests_FitsAnyQueue) {
  world_.Queue("q", "", {{"default", "cpu", 0}});
  const auto assignment = Assign({Pods("main", 3, {})});
  ASSERT_TRUE(Fits(assignment));
  EXPECT_TRUE(assignment.pod_sets[0].flavors.empty());
}

TEST_F(FlavorAssignerTest, QueueThatTheTreeDoesNotKnow_IsMisconfigured) {
  world_.Queue("q", "", {{"default", "cpu", 1}});
  world_.Build();
  world_.Queue("new", "", {{"default", "cpu", 1}});
  EXPECT_EQ(world_.Assign({Pods("main", 1, {{"cpu", 1}})}, "new").no_fit_reason,
            Reason::kMisconfigured);
}

}  // namespace
}  // namespace muster::core::testing
