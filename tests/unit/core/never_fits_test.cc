// Requests that no member can ever hold: decided by sizes alone, and never if a size is unknown.
#include "schedd/core/member/never_fits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/explain/explain.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr std::int64_t kGi = std::int64_t{1} << 30;

std::string Never(World& world, const PodSets& pod_sets, const std::string& pinned = "") {
  return NeverFits(world.clusters(), pod_sets, pinned);
}

TEST(NeverFits, NamesTheNearestMember) {
  World world;
  world.Member("east", {{"cpu", 32'000}, {"memory", 64 * kGi}});
  world.Member("west", {{"cpu", 8'000}, {"memory", 128 * kGi}});
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"cpu", 32'000}})}), "");
  EXPECT_EQ(Never(world, {Pods("main", 2, {{"cpu", 16'500}})}),
            "no member cluster can ever hold it as they are: the nearest is east, which has 32 of "
            "the 33 cpu that it needs");
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"memory", 999 * kGi}})}),
            "no member cluster can ever hold it as they are: the nearest is west, which has 128Gi "
            "of the 999Gi memory that it needs");
  EXPECT_THAT(Never(world, {Pods("main", 1, {{kGpu, 1}})}),
              HasSubstr("which has no nvidia.com/gpu"));
  EXPECT_THAT(Never(world, {Pods("a", 1, {{"cpu", 20'000}}), Pods("b", 1, {{"cpu", 20'000}})}),
              HasSubstr("32 of the 40 cpu"))
      << "a job runs on one member";
  EXPECT_EQ(
      Never(world, {Pods("main", 1, {{"cpu", 9'000}})}, "west"),
      "it can never run where it is pinned: member cluster west, which has 8 of the 9 cpu that "
      "it needs");
}

TEST(NeverFits, IsNotSaidOfWhatIsNotKnown) {
  World world;
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"cpu", 1'000'000}})}), "") << "no member yet";
  world.Member("east", {{"cpu", 8'000}});
  EXPECT_NE(Never(world, {Pods("main", 1, {{"cpu", 9'000}})}), "");
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"cpu", 9'000}})}, "north"), "") << "it may join";
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"memory", 999 * kGi}})}), "")
      << "east does not tell its memory";
  world.Member("north", {});
  EXPECT_EQ(Never(world, {Pods("main", 1, {{kGpu, 9}})}), "") << "north has not told its facts";
}

TEST(NeverFits, CountsMachinesThatAreAway_AndTheFewestPods) {
  World world;
  MemberCluster& east = world.Member("east", {{"cpu", 8'000}});
  east.capacity = {{"cpu", 16'000}};
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"cpu", 16'000}})}), "") << "they may come back";
  PodSet pods = Pods("main", 100, {{"cpu", 1'000}});
  EXPECT_NE(Never(world, {pods}), "");
  pods.min_count = 4;
  EXPECT_EQ(Never(world, {pods}), "");
}

TEST(NeverFits, OnePodGoesToOneMachine) {
  World world;
  MemberCluster& east = world.Member("east", {{"cpu", 32'000}});
  for (const std::int64_t cpu : {8'000, 16'000}) {
    Node node;
    node.name = "n" + std::to_string(cpu);
    node.allocatable = {{"cpu", cpu}};
    node.ready = false;
    east.nodes.push_back(node);
  }
  EXPECT_EQ(Never(world, {Pods("main", 2, {{"cpu", 16'000}})}), "") << "sizes only";
  EXPECT_EQ(Never(world, {Pods("main", 1, {{"cpu", 17'000}})}),
            "no member cluster can ever hold it as they are: the nearest is east, whose machines "
            "have at most 16 of the 17 cpu that one pod needs");
}

TEST(NeverFits, IsTheFirstFactOfAnExplanation) {
  World world;
  world.Queue("team", "", {{"standard", "cpu", 100'000}});
  world.Member("east", {{"cpu", 8'000}});
  const auto explain = [&](std::int64_t cpu) {
    ExplainInput input;
    input.snapshot = world.Take();
    input.job = world.Job("team", 0, {Pods("main", 1, {{"cpu", cpu}})});
    input.waiting = {input.job};
    return Explain(input);
  };
  const Explanation never = explain(9'000);
  ASSERT_FALSE(never.facts.empty());
  EXPECT_THAT(never.facts.front(), HasSubstr("no member cluster can ever hold it"));
  EXPECT_THAT(explain(8'000).facts, Not(Contains(HasSubstr("ever hold it"))));
}

}  // namespace
}  // namespace muster::core::testing
