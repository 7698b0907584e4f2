#include "schedd/core/member/placement.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

class PlacementTest : public ::testing::Test {
 protected:
  PlacementChoice Put(const PodSets& pod_sets, const std::string& flavor = "", Uid uid = {1, 2}) {
    Admission admission;
    for (const auto& pods : pod_sets) {
      PodSetAssignment assignment;
      assignment.name = pods.name;
      assignment.count = pods.count;
      assignment.usage = Scaled(pods.requests, pods.count);
      for (const auto& request : pods.requests) {
        if (!flavor.empty()) assignment.flavors[request.resource] = flavor;
      }
      admission.pod_sets.push_back(assignment);
    }
    PlacementDemand demand;
    demand.pod_sets = &pod_sets;
    demand.admission = &admission;
    demand.job_uid = uid;
    return Place(world_.config(), world_.clusters(), demand, true);
  }
  PlacementChoice Gpus(std::int64_t count) { return Put({Pods("main", 1, {{kGpu, count}})}); }

  World world_;
};

TEST_F(PlacementTest, RequestsOf_SumsEveryPodOfEveryPodSet_AsManyAsAreAdmitted) {
  const PodSets pod_sets = {Pods("a", 2, {{"cpu", 3}}), Pods("b", 4, {{"cpu", 1}, {kGpu, 2}})};
  EXPECT_EQ(RequestsOf(pod_sets, nullptr), (ResourceList{{"cpu", 10}, {kGpu, 8}}));
  Admission admission;
  admission.pod_sets.resize(2);
  admission.pod_sets[0].count = 2;
  admission.pod_sets[1].count = 1;
  EXPECT_EQ(RequestsOf(pod_sets, &admission), (ResourceList{{"cpu", 7}, {kGpu, 2}}));
}

TEST_F(PlacementTest, GangOfSixteen_WaitsWhileFifteenAreFree_AndGoesAtSixteen) {
  world_.Member("east", {{kGpu, 16}});
  world_.clusters()[0].free = {{kGpu, 15}};
  const PodSets gang = {Pods("workers", 2, {{kGpu, 8}})};
  auto choice = Put(gang);
  EXPECT_EQ(choice.cluster, "");
  EXPECT_EQ(choice.reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(choice.message, "member cluster east: needs 16 nvidia.com/gpu, 15 of 16 free");
  ASSERT_EQ(choice.verdicts.size(), 1u);
  EXPECT_EQ(choice.verdicts[0].message, "needs 16 nvidia.com/gpu, 15 of 16 free");
  EXPECT_TRUE(choice.verdicts[0].eligible);
  EXPECT_FALSE(choice.verdicts[0].fits_now);
  world_.clusters()[0].free = {{kGpu, 16}};
  choice = Put(gang);
  EXPECT_EQ(choice.cluster, "east");
  EXPECT_EQ(choice.reason, Reason::kNone);
  EXPECT_TRUE(choice.verdicts[0].fits_now);
}

TEST_F(PlacementTest, JobThatNoMemberCouldEverHold_SaysSo) {
  world_.Member("east", {{kGpu, 8}});
  world_.Member("west", {{"cpu", 8}});
  const auto choice = Gpus(9);
  EXPECT_EQ(choice.reason, Reason::kNoMemberCluster);
  EXPECT_EQ(
      choice.message,
      "member cluster east: needs 9 nvidia.com/gpu, 8 of 8 free; member cluster west: needs 9 "
      "nvidia.com/gpu, has none");
  EXPECT_FALSE(choice.verdicts[0].eligible);
}

TEST_F(PlacementTest, CpuAndMemory_LimitOnlyWhereTheyAreDeclared_OtherResourcesAlways) {
  world_.Member("bare", {});
  EXPECT_EQ(Put({Pods("main", 1, {{"cpu", 64000}, {"memory", 1 << 30}})}).cluster, "bare");
  EXPECT_EQ(Gpus(1).cluster, "");
  EXPECT_EQ(Gpus(0).cluster, "bare");
  world_.clusters().clear();
  world_.Member("sized", {{"cpu", 2000}});
  EXPECT_EQ(Put({Pods("main", 1, {{"cpu", 2000}, {"memory", 1 << 30}})}).cluster, "sized");
  EXPECT_EQ(Put({Pods("main", 1, {{"cpu", 2001}})}).message,
            "member cluster sized: needs 2001m cpu, 2 of 2 free");
}

TEST_F(PlacementTest, FlavorLabels_MustBeTheMembers_UnlessAnyFlavorAndUndeclared) {
  world_.Flavor("a100", {{"gpu", "a100"}});
  auto& member = world_.Member("east", {{kGpu, 8}});
  const PodSets pods = {Pods("main", 1, {{kGpu, 1}})};
  EXPECT_EQ(Put(pods, "a100").cluster, "east") << "undeclared on an any_flavor member";
  member.any_flavor = false;
  auto choice = Put(pods, "a100");
  EXPECT_EQ(choice.reason, Reason::kNoMemberCluster);
  EXPECT_EQ(choice.message, "member cluster east: does not have label gpu=a100 of flavor a100");
  member.labels = {{"gpu", "h100"}};
  EXPECT_EQ(Put(pods, "a100").cluster, "");
  member.any_flavor = true;
  EXPECT_EQ(Put(pods, "a100").cluster, "") << "declared, and another";
  member.labels = {{"gpu", "a100"}};
  EXPECT_EQ(Put(pods, "a100").cluster, "east");
}

TEST_F(PlacementTest, MemberTaints_AreToleratedByPodsOrFlavors) {
  world_.Flavor("plain");
  auto& member = world_.Member("east", {{kGpu, 8}});
  member.taints = {{"lab", "x", "NoSchedule"}};
  const PodSet pods = Pods("main", 1, {{kGpu, 1}});
  EXPECT_EQ(Put({pods}, "plain").message,
            "member cluster east: has untolerated taint {lab x NoSchedule <nil>}");
  SchedulingConstraints tolerant;
  tolerant.tolerations = {{"lab", "Exists", "", "", {}}};
  EXPECT_EQ(Put({With(pods, tolerant)}, "plain").cluster, "east");
  EXPECT_EQ(Put({With(pods, tolerant), pods}, "plain").cluster, "")
      << "every pod set must tolerate";
  world_.config().flavors["plain"].tolerations = tolerant.tolerations;
  EXPECT_EQ(Put({pods}, "plain").cluster, "east");
}

TEST_F(PlacementTest, CordonedOrUnreachableMember_TakesNothingNew_ButMayLater) {
  world_.Member("east", {{kGpu, 8}}).cordoned = true;
  auto choice = Gpus(1);
  EXPECT_EQ(choice.reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(choice.message, "member cluster east: is cordoned");
  world_.clusters()[0].member.cordoned = false;
  world_.clusters()[0].member.healthy = false;
  choice = Gpus(1);
  EXPECT_EQ(choice.reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(choice.message, "member cluster east: is not reachable");
}

TEST_F(PlacementTest, LargerFreeShareOfTheDominantResource_Wins) {
  world_.Member("half", {{"cpu", 100000}, {kGpu, 8}});
  world_.Member("empty", {{"cpu", 100000}, {kGpu, 4}});
  world_.clusters()[0].free = {{"cpu", 100000}, {kGpu, 4}};
  // After placing 1: half has 3 of 8 left, empty has 3 of 4.
  EXPECT_EQ(Put({Pods("main", 1, {{"cpu", 10}, {kGpu, 1}})}).cluster, "empty");
  // After placing 4: nothing is left on either; sizes no longer matter, only that it fits.
  EXPECT_NE(Gpus(4).cluster, "");
}

TEST_F(PlacementTest, EqualMembers_ShareJobsByAStableHash) {
  for (const char* name : {"a", "b", "c", "d"}) world_.Member(name, {{kGpu, 8}});
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 64; ++i) {
    const auto first = Put({Pods("main", 1, {{kGpu, 1}})}, "", {i, 1}).cluster;
    EXPECT_EQ(Put({Pods("main", 1, {{kGpu, 1}})}, "", {i, 1}).cluster, first);
    seen.insert(first);
  }
  EXPECT_EQ(seen.size(), 4u);
}

TEST_F(PlacementTest, LongFleet_IsSummarisedInTheMessage_ButNotInTheVerdicts) {
  for (int i = 0; i < 9; ++i) world_.Member("m" + std::to_string(i), {{kGpu, 1}});
  const auto choice = Gpus(2);
  EXPECT_NE(choice.message.find("; and 4 more"), std::string::npos) << choice.message;
  EXPECT_EQ(choice.verdicts.size(), 9u);
}

}  // namespace
}  // namespace muster::core::testing
