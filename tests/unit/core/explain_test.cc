#include "schedd/core/explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/topology/member_machines.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kGpu = "nvidia.com/gpu";

Explanation Why(const World& world, const JobPtr& job, std::vector<JobPtr> waiting = {}) {
  ExplainInput input;
  input.snapshot = world.Take();
  input.job = job;
  input.waiting = std::move(waiting);
  input.waiting.push_back(job);
  return Explain(input);
}

class ExplainTest : public ::testing::Test {
 protected:
  // team-research and team-vision share 24 of gpu-a100.
  void Cohort() {
    world.Queue("team-research", "all", {{"gpu-a100", kGpu, 16}});
    world.Queue("team-vision", "all", {{"gpu-a100", kGpu, 8}});
  }
  JobPtr Wants(const std::string& queue, std::int64_t gpus, std::int32_t priority = 0) {
    return world.Job(queue, priority, {Pods("main", 1, {{kGpu, gpus}})});
  }
  QueuePreemption& PolicyOf(const std::string& queue) {
    return world.config().cluster_queues[queue].preemption;
  }
  World world;
};

TEST_F(ExplainTest, NearestMiss_IsInNumbers_AndSaysWhereTheLimitBinds) {
  Cohort();
  world.Hold("team-research", kGpu, 11);
  const auto why = Why(world, Wants("team-research", 16));
  EXPECT_EQ(why.reason, "WaitingForQuota");
  EXPECT_EQ(why.summary,
            "needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free (flavor "
            "gpu-a100)");
  EXPECT_EQ(
      why.message,
      "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in "
      "flavor gpu-a100, 3 more needed");
  ASSERT_EQ(why.flavors.size(), 1u);
  EXPECT_EQ(why.flavors[0].missing, 3);
  EXPECT_EQ(why.flavors[0].limit, "cohort all shares 24, 11 are used");
  EXPECT_THAT(why.would_help,
              ElementsAre("3 more nvidia.com/gpu of flavor gpu-a100 free in cohort all",
                          "job 1 (default/job-1) ending; it declares no time limit"));
}

struct LimitCase {
  const char* name;
  std::optional<std::int64_t> borrowing, lending;
  std::int64_t own_used, other_used, wanted;
  const char* limit;
};

class ExplainLimit : public ExplainTest, public ::testing::WithParamInterface<LimitCase> {};

TEST_P(ExplainLimit, IsWhereItBinds) {
  const LimitCase& one = GetParam();
  Cohort();
  auto& own = world.config().cluster_queues["team-research"].resource_groups[0].flavors[0];
  auto& other = world.config().cluster_queues["team-vision"].resource_groups[0].flavors[0];
  own.resources[0].second.borrowing_limit = one.borrowing;
  other.resources[0].second.lending_limit = one.lending;
  if (one.own_used > 0) world.Hold("team-research", kGpu, one.own_used);
  if (one.other_used > 0) world.Hold("team-vision", kGpu, one.other_used);
  const auto why = Why(world, Wants("team-research", one.wanted));
  ASSERT_EQ(why.flavors.size(), 1u);
  EXPECT_EQ(why.flavors[0].limit, one.limit);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, ExplainLimit,
    ::testing::Values(
        LimitCase{"TheCohortIsUsedUp", {}, {}, 12, 8, 8, "cohort all shares 24, 20 are used"},
        LimitCase{"TheBorrowingLimit",
                  2,
                  {},
                  12,
                  0,
                  8,
                  "ClusterQueue team-research may borrow 2 beyond its 16, 12 are used "
                  "(borrowingLimit)"},
        LimitCase{"TheLendingLimitOfAnother",
                  {},
                  3,
                  12,
                  0,
                  8,
                  "cohort all shares 19, 12 are used; lendingLimits keep 5 unused from it"},
        LimitCase{"MoreThanTheCohortHas", {}, {}, 0, 0, 30, "cohort all shares 24 in all"},
        LimitCase{"MoreThanItMayEverBorrow",
                  2,
                  {},
                  0,
                  0,
                  20,
                  "ClusterQueue team-research has 16 and may borrow no more than 2 "
                  "(borrowingLimit)"},
        LimitCase{"MoreThanOthersEverLend",
                  {},
                  3,
                  0,
                  0,
                  20,
                  "cohort all shares 19 in all; lendingLimits keep 5 more from it"}),
    [](const auto& one) { return one.param.name; });

TEST_F(ExplainTest, JobOfAQueueWithoutCohort_IsLimitedByItsOwnQuota) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  world.Hold("q", kGpu, 6);
  EXPECT_EQ(Why(world, Wants("q", 4)).flavors[0].limit,
            "ClusterQueue q has 8, 6 are used (nominalQuota; it has no cohort to borrow from)");
}

TEST_F(ExplainTest, JobThatIsTooLarge_NamesTheQuotaItNeeds) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  const auto why = Why(world, Wants("q", 9));
  EXPECT_EQ(why.reason, "ExceedsMaxQuota");
  EXPECT_EQ(why.summary,
            "needs 9 nvidia.com/gpu and q can never use more than 8 of flavor default");
  EXPECT_THAT(why.would_help,
              ElementsAre("a smaller request than 9 nvidia.com/gpu, or more quota of flavor "
                          "default: ClusterQueue q has 8 (nominalQuota; it has no cohort to borrow "
                          "from)"));
  EXPECT_FALSE(why.preemption.asked);
}

TEST_F(ExplainTest, EachFlavorSaysWhyItIsNotUsable) {
  world.Flavor("tainted", {}, {{"spot", "true", "NoSchedule"}});
  world.Flavor("h100", {{"gpu", "h100"}});
  world.Queue("q", "",
              {{"tainted", kGpu, 8}, {"h100", kGpu, 8}, {"a100", kGpu, 4}, {"b", kGpu, 8}});
  world.Hold("q", kGpu, 0);
  SchedulingConstraints constraints;
  constraints.node_selector = {{"gpu", "a100"}};
  const auto job = world.Job("q", 0, {With(Pods("main", 1, {{kGpu, 6}}), constraints)});
  const auto why = Why(world, job);
  ASSERT_EQ(why.flavors.size(), 4u);
  EXPECT_EQ(why.flavors[0].verdict.message,
            "untolerated taint {spot true NoSchedule <nil>} in flavor tainted");
  EXPECT_EQ(why.flavors[1].verdict.message, "flavor h100 doesn't match node affinity");
  EXPECT_EQ(why.flavors[2].verdict.reason, Reason::kExceedsMaxQuota);
  EXPECT_TRUE(why.flavors[3].chosen);
}

TEST_F(ExplainTest, FlavorsBehindTheOneThatFits_WereNotLookedAt) {
  world.Queue("q", "", {{"first", kGpu, 8}, {"second", kGpu, 8}});
  const auto why = Why(world, Wants("q", 4));
  ASSERT_EQ(why.flavors.size(), 2u);
  EXPECT_EQ(why.flavors[1].verdict.message, "not looked at: the search ended at flavor first");
  EXPECT_EQ(why.summary, "quota and a member cluster are free for it; the next cycle decides");
}

TEST_F(ExplainTest, PodSetsBehindOneThatDoesNotFit_AreShownByThemselves) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  const auto job =
      world.Job("q", 0, {Pods("head", 1, {{kGpu, 9}}), Pods("worker", 1, {{kGpu, 2}})});
  const auto why = Why(world, job);
  ASSERT_EQ(why.flavors.size(), 2u);
  EXPECT_EQ(why.flavors[0].verdict.pod_set, "head");
  EXPECT_EQ(why.flavors[1].verdict.message,
            "needs 2 nvidia.com/gpu; q can use 8, 0 are used, 8 free");
}

TEST_F(ExplainTest, ResourceThatNoGroupCovers_IsNamed) {
  world.Queue("q", "", {{"default", "cpu", 8}});
  const auto why = Why(world, Wants("q", 1));
  EXPECT_EQ(why.reason, "NoMatchingFlavor");
  EXPECT_EQ(why.summary, "resource nvidia.com/gpu unavailable in ClusterQueue");
  EXPECT_THAT(why.would_help,
              ElementsAre("a resource group of ClusterQueue q that covers nvidia.com/gpu"));
}

TEST_F(ExplainTest, JobsThatMustEndTogether_AreNamedTogether_ThoseWithLimitsFirst) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  world.Hold("q", kGpu, 4);
  world.Hold("q", kGpu, 3);
  world.Hold("q", kGpu, 1);
  for (auto& held : world.held()) {
    auto limited = std::make_shared<JobRecord>(*held);
    limited->start_time = world.now();
    limited->time_limit_s = held->id.value == 3 ? 0 : 3600 * held->id.value;
    held = limited;
  }
  const auto why = Why(world, Wants("q", 7));
  EXPECT_THAT(why.would_help,
              ElementsAre("7 more nvidia.com/gpu of flavor default free in ClusterQueue q",
                          "job 1 (default/job-1) and job 2 (default/job-2) ending, all of them; "
                          "they end by 2023-11-15T00:13:20Z at the latest"));
}

TEST_F(ExplainTest, JobThatWaitsForRoom_ListsEveryMember) {
  world.Queue("q", "", {{"default", kGpu, 100}});
  world.Member("east", {{kGpu, 16}});
  world.Member("west", {{kGpu, 4}});
  world.clusters()[0].free = {{kGpu, 15}};
  const auto why = Why(world, Wants("q", 16));
  EXPECT_EQ(why.reason, "WaitingForCapacity");
  ASSERT_EQ(why.clusters.size(), 2u);
  EXPECT_THAT(
      why.would_help,
      ElementsAre(
          "member cluster east having room: needs 16 nvidia.com/gpu, 15 of 16 free",
          "member cluster west being able to hold it: needs 16 nvidia.com/gpu, 4 of 4 free"));
}

TEST_F(ExplainTest, MembersAreJudged_AlsoWhileQuotaIsWhatItLacks) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  world.Hold("q", kGpu, 8);
  world.Member("east", {{kGpu, 4}});
  const auto why = Why(world, Wants("q", 6));
  EXPECT_EQ(why.reason, "WaitingForQuota");
  ASSERT_EQ(why.clusters.size(), 1u);
  EXPECT_FALSE(why.clusters[0].eligible);
}

TEST_F(ExplainTest, ClosedGate_IsTheReason_BeforeAnyQuota) {
  world.Queue("q", "", {{"default", kGpu, 1}}).stop_policy = StopPolicy::kHold;
  const auto job = Wants("q", 16);
  const auto why = Why(world, job);
  EXPECT_EQ(why.reason, "Suspended");
  EXPECT_EQ(why.summary, "ClusterQueue q is stopped");
  EXPECT_THAT(why.would_help, ElementsAre("the queue being active again"));
  EXPECT_THAT(why.flavors, IsEmpty());
  world.config().cluster_queues.clear();
  EXPECT_EQ(Why(world, job).reason, "Misconfigured");
}

TEST_F(ExplainTest, AheadOfIt_AreThoseOfItsQueue_InOrder) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  world.Queue("other", "", {{"default", kGpu, 8}});
  world.AddLocalQueue("default", "lq-second", "q");
  const auto low = Wants("q", 1);
  const auto high = Wants("q", 1, 10);
  const auto elsewhere = Wants("other", 1, 10);
  const auto second = world.Job("q", 0, {Pods("main", 1, {{kGpu, 1}})});
  second->local_queue = "lq-second";
  const auto held = world.Job("q", 100, {Pods("main", 1, {{kGpu, 1}})});
  ChangeState(held.get(), [](AdmissionState* state) { state->active = false; });
  const auto why = Why(world, second, {low, high, elsewhere, held});
  EXPECT_EQ(why.place.position, 3u);
  EXPECT_EQ(why.place.waiting, 3u);
  EXPECT_EQ(why.place.local_position, 1u);
  EXPECT_EQ(why.place.local_waiting, 1u);
  EXPECT_THAT(why.place.ahead, ElementsAre(high, low));
  EXPECT_EQ(why.place.blocker, nullptr);
}

TEST_F(ExplainTest, HeadOfAStrictQueue_BlocksTheOthers) {
  world.Queue("q", "", {{"default", kGpu, 8}}).strategy = QueueingStrategy::kStrictFifo;
  const auto head = world.Job("q", 0, {Pods("main", 1, {{kGpu, 9}})});
  head->message = "it is too large";
  const auto why = Why(world, Wants("q", 1), {head});
  EXPECT_EQ(why.summary,
            "ClusterQueue q is StrictFIFO: job 1 (default/job-1) must start or leave first; it "
            "waits: it is too large");
  EXPECT_THAT(why.would_help, ElementsAre("job 1 (default/job-1) starting or leaving the queue"));
  EXPECT_EQ(Why(world, head).place.blocker, nullptr);
}

TEST_F(ExplainTest, PreemptorThatWaitsForItsVictims_BlocksTheOthers_WhateverTheirPriority) {
  world.Queue("q", "", {{"default", kGpu, 8}});
  const auto sticky = world.Job("q", 0, {Pods("main", 1, {{kGpu, 8}})});
  sticky->reason = Reason::kWaitingForPreemptedWorkloads;
  const auto why = Why(world, Wants("q", 1, 10), {sticky});
  EXPECT_EQ(why.place.position, 2u);
  EXPECT_EQ(why.summary,
            "ClusterQueue q tries job 1 (default/job-1) before all others until the workloads that "
            "it preempted are gone");
}

TEST_F(ExplainTest, UsageBasedQueue_OrdersByTheUsageOfLocalQueues) {
  world.Queue("q", "", {{"default", kGpu, 8}}).usage_based = true;
  world.AddLocalQueue("default", "lq-light", "q");
  const auto heavy = Wants("q", 1, 10);
  const auto light = world.Job("q", 0, {Pods("main", 1, {{kGpu, 1}})});
  light->local_queue = "lq-light";
  ExplainInput input;
  input.snapshot = world.Take();
  input.snapshot.local_usages = std::make_shared<const LocalQueueUsages>(
      LocalQueueUsages{{{"default", "lq-q"}, 5.0}, {{"default", "lq-light"}, 1.0}});
  input.job = heavy;
  input.waiting = {heavy, light};
  EXPECT_EQ(Explain(input).place.position, 2u);
}

// Two racks of one machine with 4 each; `q` has 16 of it.
class ExplainTopology : public ExplainTest {
 protected:
  ExplainTopology() {
    world.config().topologies["racks"] = {"racks", {"rack", "kubernetes.io/hostname"}};
    world.Flavor("a100");
    world.config().flavors["a100"].topology = "racks";
    world.Queue("q", "", {{"a100", kGpu, 16}});
    MemberCluster& member = world.Member("east", {{kGpu, 8}});
    for (const char* name : {"n1", "n2"}) {
      Node node;
      node.name = name;
      node.labels = {{"rack", std::string("rack-") + name}, {"kubernetes.io/hostname", name}};
      node.allocatable = {{kGpu, 4}, {"pods", 110}};
      member.nodes.push_back(node);
    }
  }
  JobPtr InOneRack(std::int32_t pods) {
    PodSet main = Pods("main", pods, {{kGpu, 2}});
    TopologyRequest request;
    request.required = "rack";
    main.topology = std::make_shared<const TopologyRequest>(request);
    return world.Job("q", 0, {main});
  }
  Explanation WhyOn(const JobPtr& job, const std::vector<JobPtr>& placed = {}) {
    ExplainInput input;
    input.snapshot = world.Take();
    const auto forest =
        ForestOf(world.config(), {world.clusters()[0].member}, *input.snapshot.settings);
    input.snapshot.topology = TopologyUsage(forest);
    for (const JobPtr& other : placed) {
      input.snapshot.topology.Charge(
          ChargesOn(*forest, *other->pod_sets, *other->admission, other->cluster));
    }
    input.job = job;
    input.waiting = {job};
    return Explain(input);
  }
};

TEST_F(ExplainTopology, LargestDomain_IsInTheFlavorsRow) {
  const auto why = WhyOn(InOneRack(3));
  EXPECT_EQ(why.reason, "TopologyPlacementFailed");
  ASSERT_EQ(why.flavors.size(), 2u);
  EXPECT_EQ(why.flavors[1].verdict.flavor, "a100");
  EXPECT_THAT(why.flavors[1].verdict.message,
              AllOf(HasSubstr("allows to fit only 2 out of 3 pod(s)"),
                    HasSubstr("all must be in one rack")));
}

TEST_F(ExplainTopology, WhoStandsOnTheMachines_IsNamed_ThoughQuotaWouldDo) {
  std::vector<JobPtr> placed;
  for (const char* node : {"n1", "n2"}) {
    const auto held = world.Hold("q", kGpu, 2);
    auto job = std::make_shared<JobRecord>(*held);
    auto admission = std::make_shared<Admission>(*job->admission);
    admission->pod_sets[0].topology = std::make_shared<const TopologyAssignment>(
        TopologyAssignment{{"kubernetes.io/hostname"}, {{{node}, 1}}});
    job->admission = admission;
    job->cluster = "east";
    world.held().back() = job;
    placed.push_back(job);
  }
  world.clusters()[0].free = {{kGpu, 4}};
  const auto why = WhyOn(InOneRack(2), placed);
  EXPECT_EQ(why.reason, "WaitingForQuota");
  EXPECT_THAT(why.summary, HasSubstr("allows to fit only 1 out of 2 pod(s)"));
  ASSERT_EQ(why.preemption.held_by.size(), 1u);
  EXPECT_EQ(why.preemption.held_by[0].workloads, 2u);
  EXPECT_THAT(why.would_help,
              ElementsAre("job 1 (default/job-1) ending; it declares no time limit",
                          "job 2 (default/job-2) ending; it declares no time limit"));
}

TEST_F(ExplainTest, EqualInputs_GiveEqualText) {
  Cohort();
  world.Hold("team-vision", kGpu, 20);
  const auto job = Wants("team-research", 16);
  const auto one = Why(world, job);
  const auto two = Why(world, job);
  EXPECT_EQ(one.summary, two.summary);
  EXPECT_EQ(one.would_help, two.would_help);
  EXPECT_EQ(one.preemption.would_allow, two.preemption.would_allow);
}

}  // namespace
}  // namespace muster::core::testing
