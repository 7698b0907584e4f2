// CheckPlan and UsageDifferences find every violation that is put into a sound plan.
#include "schedd/core/cycle/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/usage_check.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlanCheckTest : public ::testing::Test {
 protected:
  PlanCheckTest() {
    auto& queue = world_.Queue("q", "team", {{"default", "cpu", 8, 2}, {"default", "gpu", 8}});
    world_.Flavor("default", {{"kind", "a"}}).Flavor("other", {{"kind", "b"}});
    queue.resource_groups.push_back(Group({{"default", "fpga", 4}}));
    world_.Queue("lender", "team", {{"default", "cpu", 90}});
    world_.Member("east", {{"cpu", 30}, {"gpu", 8}}).any_flavor = true;
    world_.Member("west", {{"cpu", 1}, {"gpu", 0}});
    world_.Add(world_.Job("q", 0, {Pods("a", 1, {{"cpu", 2}}), Pods("b", 2, {{"gpu", 3}})}));
    world_.Submit("q", 1, {{"cpu", 4}});
    snapshot_ = world_.Take();
    plan_ = Decide(snapshot_, Input());
  }

  // The plan with its first admission changed.
  std::vector<std::string> WithFirst(
      const std::function<void(PlannedAdmission*, Admission*)>& change) {
    Plan plan = plan_;
    Admission admission = *plan.admits[0].admission;
    change(&plan.admits[0], &admission);
    plan.admits[0].admission = std::make_shared<const Admission>(admission);
    return CheckPlan(snapshot_, plan);
  }
  // The plan with its first job refused.
  UnadmittedWorkload Refused(Reason reason) const {
    UnadmittedWorkload waiting;
    waiting.job = plan_.admits[0].job;
    waiting.reason = reason;
    return waiting;
  }
  std::vector<std::string> In(const std::function<void()>& change_world) {
    change_world();
    snapshot_ = world_.Take();
    return CheckPlan(snapshot_, plan_);
  }

  World world_;
  Snapshot snapshot_;
  Plan plan_;
};

TEST_F(PlanCheckTest, SoundPlan_HasNothingToSay) {
  ASSERT_EQ(plan_.admits.size(), 2u);
  EXPECT_THAT(CheckPlan(snapshot_, plan_), IsEmpty());
  EXPECT_THAT(CheckPlan(snapshot_, Plan{}), IsEmpty());
}

TEST_F(PlanCheckTest, GangViolations_AreSeen) {
  EXPECT_THAT(WithFirst([](PlannedAdmission*, Admission* a) { a->pod_sets.pop_back(); }),
              Contains(HasSubstr("1 of 2 pod sets")));
  EXPECT_THAT(WithFirst([](PlannedAdmission*, Admission* a) { a->pod_sets[1].count = 1; }),
              Contains(HasSubstr("without all pods of pod set b")));
  EXPECT_THAT(WithFirst([](PlannedAdmission*, Admission* a) {
                SetAmount(&a->pod_sets[1].usage, "gpu", 3);
              }),
              Contains(HasSubstr("charged wrongly for gpu")));
  EXPECT_THAT(WithFirst([](PlannedAdmission*, Admission* a) { a->pod_sets[1].flavors.clear(); }),
              Contains(HasSubstr("no flavor for gpu")));
}

TEST_F(PlanCheckTest, FlavorViolations_AreSeen) {
  EXPECT_THAT(
      WithFirst([](PlannedAdmission*, Admission* a) { a->pod_sets[1].flavors["gpu"] = "other"; }),
      Contains(HasSubstr("that its queue does not have for gpu")));
  EXPECT_THAT(In([&] {
                world_.Flavor("default", {}, {{"k", "v", "NoSchedule"}});
              }),
              Contains(HasSubstr("does not tolerate a taint of flavor default")));
  world_.Flavor("default", {{"kind", "a"}});
  SchedulingConstraints pods;
  pods.node_selector = {{"kind", "b"}};
  auto job = std::make_shared<JobRecord>(*plan_.admits[1].job);
  job->pod_sets =
      std::make_shared<const PodSets>(PodSets{With(Pods("main", 1, {{"cpu", 4}}), pods)});
  plan_.admits[1].job = job;
  EXPECT_THAT(In([] {}), Contains(HasSubstr("does not select flavor default")));
  pods = {};
  pods.has_required_affinity = true;
  pods.required_terms = {{{{"kind", "In", {"b"}}}}};
  job->pod_sets =
      std::make_shared<const PodSets>(PodSets{With(Pods("main", 1, {{"cpu", 4}}), pods)});
  EXPECT_THAT(In([] {}), Contains(HasSubstr("no affinity to flavor default")));
}

TEST_F(PlanCheckTest, LimitViolations_AreSeenAtEveryNode) {
  auto& cpu = world_.config().cluster_queues["q"].resource_groups[0].flavors[0].resources[0].second;
  EXPECT_THAT(In([&] {
                cpu = {3, 2, {}};
              }),
              Contains("job 2 takes q to 6m cpu of flavor default where 5m is the most"));
  cpu = {8, 2, {}};
  auto& lender = world_.config().cluster_queues["lender"];
  EXPECT_THAT(In([&] {
                cpu = {4, {}, {}};
                lender.resource_groups[0].flavors[0].resources[0].second = {90, {}, 1};
              }),
              Contains("job 2 takes team to 6m cpu of flavor default where 5m is the most"));
  EXPECT_THAT(In([&] { world_.config().cluster_queues["q"].cohort = ""; }),
              Contains("job 2 takes q to 6m cpu of flavor default where 4m is the most"));
}

TEST_F(PlanCheckTest, Licences_AreOfNoMember) {
  World world;
  world.Queue("q", "team", {{"default", "cpu", 8}, {"default", "license/matlab", 4}});
  world.Flavor("default").Member("east", {{"cpu", 30}}).any_flavor = true;
  world.Submit("q", 1, {{"cpu", 1}, {"license/matlab", 1}});
  const Snapshot snapshot = world.Take();
  const Plan plan = Decide(snapshot, Input());
  ASSERT_EQ(plan.admits.size(), 1u);
  EXPECT_THAT(CheckPlan(snapshot, plan), IsEmpty());
}

TEST_F(PlanCheckTest, ShrinkByAnAdministrator_IsNotThePlansFault) {
  auto usage = world_.EmptyUsage();
  const auto& tree = usage.tree();
  usage.Add(tree.ClusterQueueIndex("lender"), tree.PairIndex("default", "gpu"), 5);
  world_.Use(usage);
  Plan plan = plan_;
  plan.admits.erase(plan.admits.begin());
  EXPECT_THAT(CheckPlan(world_.Take(), plan), IsEmpty());
}

TEST_F(PlanCheckTest, PlacementViolations_AreSeen) {
  EXPECT_THAT(WithFirst([](PlannedAdmission* admit, Admission*) { admit->cluster = "west"; }),
              Contains(HasSubstr("has no room for its gpu on west")));
  EXPECT_THAT(WithFirst([](PlannedAdmission* admit, Admission*) { admit->cluster = "mars"; }),
              Contains(HasSubstr("that does not exist")));
  EXPECT_THAT(WithFirst([](PlannedAdmission* admit, Admission*) { admit->cluster = ""; }),
              Contains(HasSubstr("that does not exist")));
  auto& east = world_.clusters()[0].member;
  EXPECT_THAT(In([&] { east.cordoned = true; }), Contains(HasSubstr("that is closed")));
  east.cordoned = false;
  EXPECT_THAT(In([&] { east.healthy = false; }), Contains(HasSubstr("that is closed")));
  east.healthy = true;
  EXPECT_THAT(In([&] { east.any_flavor = false; }),
              Contains(HasSubstr("does not serve flavor default")));
  east.any_flavor = true;
  EXPECT_THAT(In([&] {
                east.taints = {{"k", "v", "NoExecute"}};
              }),
              Contains(HasSubstr("does not tolerate a taint of east")));
  east.taints.clear();
  EXPECT_THAT(In([&] {
                world_.clusters()[0].free = {{"cpu", 5}, {"gpu", 8}};
              }),
              Contains("job 2 has no room for its cpu on east"));
  EXPECT_THAT(In([&] { world_.clusters().clear(); }), Contains(HasSubstr("does not exist")));
}

TEST_F(PlanCheckTest, JobsTwiceOrFromNowhere_AreSeen) {
  Plan plan = plan_;
  plan.admits.push_back(plan.admits[0]);
  EXPECT_THAT(CheckPlan(snapshot_, plan), Contains("job 1 is admitted twice or was no head"));
  plan = plan_;
  plan.not_admitted.push_back(Refused(Reason::kWaitingForQuota));
  EXPECT_THAT(CheckPlan(snapshot_, plan), Contains("job 1 is refused twice or was no head"));
  snapshot_.heads.clear();
  EXPECT_THAT(CheckPlan(snapshot_, plan_), Contains("job 1 is admitted twice or was no head"));
}

TEST_F(PlanCheckTest, RefusalWithoutAReason_IsSeen) {
  Plan plan;
  plan.not_admitted.push_back(Refused(Reason::kNone));
  EXPECT_THAT(CheckPlan(snapshot_, plan), Contains("job 1 waits without a reason"));
}

TEST_F(PlanCheckTest, AdmissionThroughAClosedGate_IsSeen) {
  EXPECT_THAT(In([&] { world_.config().cluster_queues["q"].stop_policy = StopPolicy::kHold; }),
              Contains(HasSubstr("ClusterQueue that is not active")));
  world_.config().cluster_queues["q"].stop_policy = StopPolicy::kNone;
  EXPECT_THAT(In([&] { world_.config().local_queues.clear(); }),
              Contains("job 1 is admitted although LocalQueue lq-q doesn't exist"));
  EXPECT_THAT(WithFirst([](PlannedAdmission*, Admission* a) { a->cluster_queue = "lender"; }),
              Contains(HasSubstr("another ClusterQueue than its own")));
}

TEST_F(PlanCheckTest, OvertakingInAStrictQueue_IsSeen) {
  world_.config().cluster_queues["q"].strategy = QueueingStrategy::kStrictFifo;
  EXPECT_THAT(In([] {}), IsEmpty());
  plan_.admits.erase(plan_.admits.begin());
  EXPECT_THAT(CheckPlan(snapshot_, plan_), Contains("job 2 overtakes in a StrictFIFO queue"));
}

TEST_F(PlanCheckTest, UsageDifferences_NamesEveryNodeThatIsWrong) {
  std::vector<JobPtr> admitted;
  for (const auto& admit : plan_.admits) {
    auto job = std::make_shared<JobRecord>(*admit.job);
    job->admission = admit.admission;
    admitted.push_back(job);
  }
  Usage usage = Recompute(snapshot_.usage.tree_ptr(), admitted);
  EXPECT_THAT(UsageDifferences(usage, admitted), IsEmpty());
  admitted.pop_back();
  EXPECT_THAT(
      UsageDifferences(usage, admitted),
      ::testing::UnorderedElementsAre("q: 6m cpu of flavor default recorded, 2m admitted",
                                      "team: 6m cpu of flavor default recorded, 2m admitted"));
}

}  // namespace
}  // namespace muster::core::testing
