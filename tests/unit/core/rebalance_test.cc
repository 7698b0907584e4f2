// Whether another member suits a running job better: by points, by cluster group, and without
// moving it back and forth.
#include "schedd/core/member/rebalance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "schedd/base/quantity.h"
#include "schedd/core/explain/explain.h"
#include "schedd/model/member_queues.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class RebalanceTest : public ::testing::Test {
 protected:
  RebalanceTest() { world_.Queue("q", "", {{"default", "cpu", 1000}}); }

  PlacementPolicy& Govern(const PlacementPolicy& policy) {
    placement_ = std::make_shared<Placement>();
    placement_->ns = "default";
    placement_->name = "train";
    placement_->selectors = {{"batch", "v1", "Job", "", std::nullopt, {}}};
    placement_->policy = policy;
    auto table = std::make_shared<PlacementTable>();
    table->Put(placement_);
    world_.config().placements = table;
    return placement_->policy;
  }
  // 50 points where the label zone is `zone`.
  static PlacementPolicy Prefers(const std::string& zone, std::int32_t weight = 50) {
    PlacementPolicy policy;
    policy.type = PlacementType::kPickN;
    policy.preferred = {{weight, {{{"zone", zone}}, {}}, std::nullopt}};
    return policy;
  }
  // 100 points where most cpu is free.
  static PlacementPolicy PrefersRoom() {
    PlacementPolicy policy;
    policy.type = PlacementType::kPickN;
    policy.preferred = {
        {100, {}, PropertySorter{"resources.kubernetes-fleet.io/available-cpu", true}}};
    return policy;
  }
  static PlacementPolicy Groups(std::int64_t wait_s = 60) {
    PlacementPolicy policy;
    policy.type = PlacementType::kPickN;
    policy.groups = {{"reserved", {"east"}, std::nullopt, wait_s},
                     {"cloud", {"west", "north"}, std::nullopt, 0}};
    return policy;
  }
  ClusterView& View(const std::string& name) {
    for (ClusterView& view : world_.clusters()) {
      if (view.member.name == name) return view;
    }
    std::abort();
  }
  void Member(const std::string& name, std::int64_t cpu) {
    world_.Member(name, {{"cpu", cpu}}).labels = {{"zone", name}};
  }
  // A running job that may be moved.
  std::shared_ptr<JobRecord> On(const std::string& cluster, std::int64_t cpus) {
    world_.Hold("q", "cpu", cpus);
    auto job = std::make_shared<JobRecord>(*world_.held().back());
    job->cluster = cluster;
    JobPlacement own;
    own.checkpointable = true;
    job->placement = std::make_shared<const JobPlacement>(own);
    world_.held().back() = job;
    Take(cluster, cpus);
    return job;
  }
  void Take(const std::string& cluster, std::int64_t cpus) {
    ClusterView& view = View(cluster);
    SetAmount(&view.free, "cpu", AmountOf(view.free, "cpu") - cpus);
  }
  std::optional<BetterMember> Find(const JobRecord& job, std::int64_t gain = 10,
                                   const PlacedCounts* placed = nullptr) {
    const AdmissionSettings settings;
    return Rebalancer(world_.config(), settings, world_.clusters(), placed, world_.now())
        .Find(job, gain);
  }
  std::string Target(const JobRecord& job, std::int64_t gain = 10) {
    const auto better = Find(job, gain);
    return better ? better->cluster : "";
  }

  World world_;
  std::shared_ptr<Placement> placement_;
};

TEST_F(RebalanceTest, AJobGoesWhereItScoresMoreByTheGain) {
  Member("east", 10);
  Member("west", 10);
  Govern(Prefers("west"));
  const auto job = On("east", 4);
  const auto better = Find(*job, 50);
  ASSERT_TRUE(better);
  EXPECT_EQ(better->cluster, "west");
  EXPECT_EQ(better->points, 50);
  EXPECT_EQ(better->message,
            "moves to member cluster west: it scores 50 points by ResourcePlacement "
            "default/train, and member cluster east 0");
  EXPECT_EQ(Target(*job, 51), "") << "the gain is not reached";
}

TEST_F(RebalanceTest, AnEarlierClusterGroupIsWorthAnyPoints) {
  Member("east", 10);
  Member("west", 10);
  PlacementPolicy policy = Groups();
  policy.preferred = Prefers("west").preferred;
  Govern(policy);
  const auto better = Find(*On("west", 4), 50);
  ASSERT_TRUE(better);
  EXPECT_EQ(better->cluster, "east");
  EXPECT_TRUE(better->earlier_group);
  EXPECT_EQ(better->message,
            "moves to member cluster east: ResourcePlacement default/train has it in its cluster "
            "group reserved, and west in its cluster group cloud");
  EXPECT_EQ(Target(*On("east", 4)), "") << "never to a later group, whatever it scores";
}

TEST_F(RebalanceTest, OnlyTheGroupsThatAreOpenToOneThatHasJustQueuedCount) {
  Member("north", 10);
  Member("west", 10);
  PlacementPolicy policy = Groups(60);
  policy.preferred = Prefers("west").preferred;
  PlacementPolicy& now = Govern(policy);
  const auto job = On("north", 4);
  EXPECT_EQ(Target(*job), "") << "it would have to wait before it may go there";
  now.groups[0].wait_s = 0;
  EXPECT_EQ(Target(*job), "west");
}

TEST_F(RebalanceTest, NoMoveWithoutAFeasibleMember) {
  const struct {
    const char* sentence;
    std::function<void(ClusterView*, PlacementPolicy*)> spoil;
  } cases[] =
      {
          {"it is full", [](ClusterView* west, auto*) { SetAmount(&west->free, "cpu", 3); }},
          {"it is cordoned", [](ClusterView* west, auto*) { west->member.cordoned = true; }},
          {"it does not answer", [](ClusterView* west, auto*) { west->member.healthy = false; }},
          {"it has a taint",
           [](ClusterView* west, auto*) {
    west->member.taints = {{"spot", "", "NoSchedule"}};
           }},
          {"it is not what is required",
           [](ClusterView*, PlacementPolicy* policy) {
    policy->required = {{{{{"zone", "east"}}, {}}, {}}};
           }},
    {"its machines are too small",
     [](ClusterView* west, auto*) {
    west->member.machines =
        std::make_shared<const MachineGroups>(MachineGroups{{{}, {}, {{"cpu", 3}}, 4}});
     }},
      {"it does not serve the kind",
       [](ClusterView* west, auto*) {
    west->member.kinds =
        std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"RayJob"});
       }},
      };
  Member("east", 10);
  Member("west", 10);
  const auto job = On("east", 4);
  for (const auto& one : cases) {
    const ClusterView before = View("west");
    PlacementPolicy& policy = Govern(Prefers("west"));
    ASSERT_EQ(Target(*job), "west");
    one.spoil(&View("west"), &policy);
    EXPECT_EQ(Target(*job), "") << one.sentence;
    View("west") = before;
  }
}

TEST_F(RebalanceTest, OnlyJobsThatSayTheyMayBeMovedAre) {
  const struct {
    const char* sentence;
    std::function<void(JobRecord*)> change;
    bool may = false;
  } cases[] =
      {
          {"a checkpointable one", [](JobRecord*) {}, true},
          {"it does not say so", [](JobRecord* job) { job->placement = nullptr; }},
          {"it is pinned",
           [](JobRecord* job) {
    JobPlacement own = *job->placement;
    own.cluster = "east";
    job->placement = std::make_shared<const JobPlacement>(own);
           }},
          {"it only starts", [](JobRecord* job) { job->state = JobState::kAdmitted; }},
          {"it may not be requeued",
           [](JobRecord* job) {
    auto batch = std::make_shared<BatchDetails>();
    batch->requeue = false;
    job->batch = batch;
           }},
    {"its machines were chosen",
     [](JobRecord* job) {
    auto admission = std::make_shared<Admission>(*job->admission);
    admission->pod_sets[0].topology = std::make_shared<const TopologyAssignment>();
    job->admission = admission;
     }},
      {"a member's own queue admitted it",
       [](JobRecord* job) {
    ChangeState(job, [](AdmissionState* state) {
      AdmissionCheckStatus check;
      check.name = kMemberQueuesCheck;
      check.state = CheckState::kReady;
      state->checks = {check};
    });
       }},
      {"nothing governs it", [](JobRecord* job) { job->ns = "elsewhere"; }},
      };
  Member("east", 10);
  Govern(Prefers("west"));
  const auto job = On("east", 4);
  for (const auto& one : cases) {
    JobRecord changed = *job;
    one.change(&changed);
    EXPECT_EQ(MayBeMoved(world_.config(), changed), one.may) << one.sentence;
  }
  PlacementPolicy fixed = Prefers("west");
  fixed.type = PlacementType::kPickFixed;
  Govern(fixed);
  EXPECT_FALSE(MayBeMoved(world_.config(), *job)) << "its members are named";
  Govern(PlacementPolicy{});
  EXPECT_FALSE(MayBeMoved(world_.config(), *job)) << "its placement prefers nothing";
}

// If its own pods counted, a job that has moved away from a full member would score the member that
// it left as the emptier one.
TEST_F(RebalanceTest, WhatAJobHoldsItselfMovesItNowhere_AndWhoHasMovedStays) {
  Member("east", 100);
  Member("west", 100);
  Govern(PrefersRoom());
  auto job = On("east", 60);
  EXPECT_EQ(Target(*job), "") << "without it both are empty";
  Take("east", 30);
  ASSERT_EQ(Target(*job), "west") << "others are in its way";
  Take("east", -60);
  Take("west", 60);
  job->cluster = "west";
  EXPECT_EQ(Target(*job), "") << "the emptier one is where it came from";
}

// Many jobs that score by free room, moved one after another by the rule until none moves: this
// ends, and the jobs are spread by room.
TEST_F(RebalanceTest, MovesOneAfterAnotherComeToAnEnd) {
  Member("east", 100);
  Member("north", 100);
  Member("west", 100);
  Govern(PrefersRoom());
  std::vector<std::shared_ptr<JobRecord>> jobs;
  for (int i = 0; i < 18; ++i) jobs.push_back(On("east", 1 + i % 9));
  int moves = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& job : jobs) {
      const std::string target = Target(*job, 1);
      if (target.empty()) continue;
      const std::int64_t cpus = AmountOf(job->admission->pod_sets[0].usage, "cpu");
      Take(job->cluster, -cpus);
      Take(target, cpus);
      job->cluster = target;
      moved = true;
      ASSERT_LT(++moves, 100);
    }
  }
  EXPECT_GT(moves, 0);
  for (const char* name : {"east", "north", "west"})
    EXPECT_NEAR(static_cast<double>(AmountOf(View(name).free, "cpu")), 70, 9) << name;
}

TEST_F(RebalanceTest, SpreadIsCountedWithoutTheJob) {
  Member("east", 100);
  Member("west", 100);
  PlacementPolicy policy;
  policy.type = PlacementType::kPickN;
  ClusterSpread spread;
  spread.topology_key = "zone";
  spread.max_skew = 1;
  spread.schedule_anyway = true;
  policy.spread = {spread};
  Govern(policy);
  const auto job = On("east", 1);
  const PlacementTable::Key key{"default", "train"};
  const PlacedCounts even{{key, {{"east", 2}, {"west", 1}}}};
  EXPECT_FALSE(Find(*job, 1, &even)) << "one each without it: either is as good";
  const PlacedCounts skewed{{key, {{"east", 3}, {"west", 0}}}};
  const auto better = Find(*job, 100, &skewed);
  ASSERT_TRUE(better);
  EXPECT_EQ(better->cluster, "west");
}

TEST_F(RebalanceTest, ExplainSaysWhetherItWouldMove) {
  Member("east", 10);
  Member("west", 10);
  Govern(Prefers("west"));
  ExplainInput input;
  input.job = On("east", 4);
  const auto facts = [&] {
    input.snapshot = world_.Take();
    return Explain(input).facts;
  };
  EXPECT_THAT(facts(), Not(Contains(HasSubstr("rebalancing")))) << "its queue does not ask for it";
  world_.config().cluster_queues["q"].rebalance.on = true;
  EXPECT_THAT(facts(), Contains(HasSubstr("rebalancing, every 5m: moves to member cluster west")));
  world_.config().cluster_queues["q"].rebalance.gain = 51;
  EXPECT_THAT(facts(), Contains("rebalancing, every 5m: no member cluster with the room would be "
                                "worth 51 points more"));
}

TEST(Moves, AnEarlierGroupGoesBeforePointsAndMorePointsBeforeFewer) {
  const BetterMember group{"a", true, -5, ""}, much{"b", false, 50, ""}, little{"c", false, 20, ""};
  EXPECT_TRUE(BringsMore(group, much));
  EXPECT_TRUE(BringsMore(much, little));
  EXPECT_FALSE(BringsMore(little, much));
  EXPECT_FALSE(BringsMore(much, much));
}

}  // namespace
}  // namespace muster::core::testing
