// Topology aware scheduling in the flavor search: which flavors qualify, and how placement changes
// the search after quota.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/core/flavor_world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TopologyRequest Required(const std::string& level) {
  TopologyRequest request;
  request.required = level;
  return request;
}

class FlavorTopologyTest : public ::testing::Test {
 protected:
  FlavorTopologyTest() { world_.placer = &placer_; }

  // Flavor `racks` has a topology with that level, flavor `plain` has none.
  ClusterQueue& Queue(std::int64_t racks, std::int64_t plain) {
    placer_.flavors["racks"] = {{"rack"}, 100, 100};
    world_.Flavor("racks", {}, {}, "default");
    return world_.Queue("q", "", {{"plain", "cpu", plain}, {"racks", "cpu", racks}});
  }
  static PodSets Asking(std::int32_t count, const std::string& level = "rack") {
    return {OnTopology(Pods("main", count, {{"cpu", 1}}), Required(level))};
  }

  FlavorWorld world_;
  ScriptedPlacer placer_;
};

TEST_F(FlavorTopologyTest, FlavorsOfTheWrongKind_AreNamedWithTheirReason) {
  Queue(10, 10);
  const auto asking = world_.Assign(Asking(2));
  EXPECT_EQ(FlavorOf(asking, 0, "cpu"), "racks");
  EXPECT_THAT(asking.pod_sets[0].attempts.at(0).reasons,
              ElementsAre("Flavor \"plain\" does not support TopologyAwareScheduling"));
  EXPECT_THAT(world_.Assign(Asking(2, "block")).Message(),
              HasSubstr("Flavor \"racks\" does not contain the requested level"));
  placer_.flavors.clear();
  EXPECT_THAT(world_.Assign(Asking(2)).Message(),
              HasSubstr("Flavor \"racks\" information missing in TAS cache"));
  world_.settings.tas = false;
  EXPECT_EQ(FlavorOf(world_.Assign(Asking(2)), 0, "cpu"), "plain");
}

TEST_F(FlavorTopologyTest, PodsThatAskForNone_StayOffTopologyFlavors_UnlessThereAreNoOthers) {
  auto& queue = Queue(10, 0);
  const PodSets pods = {Pods("main", 2, {{"cpu", 1}})};
  EXPECT_THAT(world_.Assign(pods).Message(),
              HasSubstr("Flavor \"racks\" supports only TopologyAwareScheduling"));
  EXPECT_EQ(placer_.places, 0);
  queue.resource_groups = {Group({{"racks", "cpu", 10}})};
  const auto implied = world_.Assign(pods);
  EXPECT_EQ(implied.Mode(), FlavorMode::kFit);
  EXPECT_TRUE(placer_.asked.at(0).implied);
  EXPECT_NE(implied.pod_sets[0].topology, nullptr);
}

TEST_F(FlavorTopologyTest, FlavorForTransformedResourcesOnly_NeedsNoTopology) {
  auto& queue = Queue(10, 0);
  queue.resource_groups = {Group({{"racks", "cpu", 10}}), Group({{"plain", "credits", 10}})};
  PodSets pods = {OnTopology(Pods("main", 2, {{"cpu", 1}, {"credits", 2}}), Required("rack"))};
  EXPECT_EQ(world_.Assign(pods).Mode(), FlavorMode::kNoFit)
      << "the pods ask for credits themselves";
  pods[0].node_requests = std::make_shared<const ResourceList>(ResourceList{{"cpu", 1}});
  const auto assignment = world_.Assign(pods);
  EXPECT_EQ(FlavorOf(assignment, 0, "credits"), "plain");
  EXPECT_EQ(placer_.asked.at(0).flavor, "racks");
}

TEST_F(FlavorTopologyTest, Placement_IsPartOfTheAdmission) {
  Queue(10, 10);
  const auto assignment = world_.Assign(Asking(2));
  ASSERT_EQ(assignment.Mode(), FlavorMode::kFit) << assignment.Message();
  ASSERT_EQ(placer_.asked.size(), 1u);
  EXPECT_EQ(placer_.asked[0].count, 2);
  EXPECT_FALSE(placer_.asked[0].implied);
  const auto topology = assignment.ToAdmission("q")->pod_sets[0].topology;
  ASSERT_NE(topology, nullptr);
  EXPECT_EQ(topology->domains[0].count, 2);
  EXPECT_EQ(world_.Quick(world_.Job(Asking(2))), "needs search");
  EXPECT_EQ(world_.Quick(world_.Job(Asking(20))), "no fit") << "quota alone says so";
}

TEST_F(FlavorTopologyTest, NoPlaceNow_ButOnEmptyMachines_NeedsVictimsOnAllOfThem) {
  Queue(10, 10);
  placer_.flavors["racks"].free_pods = 1;
  const auto assignment = world_.Assign(Asking(2));
  EXPECT_EQ(assignment.Mode(), FlavorMode::kPreempt);
  EXPECT_EQ(assignment.Message(), "couldn't assign flavors to pod set main: no room for 2");
  EXPECT_EQ(assignment.Contested(world_.usage->tree()).size(), 1u);
}

TEST_F(FlavorTopologyTest, NoPlaceEvenOnEmptyMachines_DoesNotFit) {
  Queue(10, 10);
  placer_.flavors["racks"] = {{"rack"}, 1, 1};
  const auto assignment = world_.Assign(Asking(2));
  EXPECT_EQ(assignment.Mode(), FlavorMode::kNoFit);
  EXPECT_EQ(assignment.no_fit_reason, Reason::kTopologyPlacementFailed)
      << "milder than that the plain flavor of the same group could not host it at all";
  EXPECT_THAT(assignment.Contested(world_.usage->tree()), IsEmpty());
}

TEST_F(FlavorTopologyTest, QuotaInUse_AsksOnlyWhetherEmptyMachinesWouldDo) {
  Queue(10, 0);
  world_.Take("q", "racks", "cpu", 9);
  EXPECT_EQ(world_.Assign(Asking(2)).Mode(), FlavorMode::kPreempt);
  EXPECT_EQ(placer_.places, 1);
  placer_.flavors["racks"].pods = 1;
  EXPECT_EQ(world_.Assign(Asking(2)).Mode(), FlavorMode::kNoFit);
}

TEST_F(FlavorTopologyTest, ChecksThatPlaceLater_DelayPlacement) {
  auto& queue = Queue(10, 10);
  queue.admission_checks = {{"dispatch", {}}};
  AdmissionCheck check;
  check.name = "dispatch";
  check.controller = "kueue.x-k8s.io/multikueue";
  world_.config.admission_checks["dispatch"] = check;
  auto assignment = world_.Assign(Asking(2));
  EXPECT_EQ(assignment.Mode(), FlavorMode::kFit);
  EXPECT_TRUE(assignment.ToAdmission("q")->pod_sets[0].topology_delayed);
  EXPECT_EQ(placer_.places, 0);

  world_.config.admission_checks["dispatch"].controller = "kueue.x-k8s.io/provisioning-request";
  EXPECT_TRUE(world_.Assign(Asking(2)).pod_sets[0].topology_delayed);
  queue.admission_checks[0].on_flavors = {"plain"};
  EXPECT_FALSE(world_.Assign(Asking(2)).pod_sets[0].topology_delayed);

  queue.admission_checks[0].on_flavors.clear();
  JobRecord reserved = world_.Job(Asking(2));
  reserved.admission = world_.Assign(Asking(2)).ToAdmission("q");
  ASSERT_TRUE(reserved.admission->pod_sets[0].topology_delayed);
  assignment = world_.Assign(reserved);
  EXPECT_FALSE(assignment.pod_sets[0].topology_delayed) << "the machines have been provisioned";
  EXPECT_NE(assignment.pod_sets[0].topology, nullptr);
}

TEST_F(FlavorTopologyTest, ReservedPlaces_StayUnlessANodeBroke) {
  Queue(10, 0);
  JobRecord job = world_.Job(Asking(2));
  job.admission = world_.Assign(job).ToAdmission("q");
  placer_.places = 0;
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kFit);
  EXPECT_EQ(placer_.places, 0);
  AdmissionState state;
  state.unhealthy_nodes = {"node-of-racks"};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kFit);
  EXPECT_EQ(placer_.places, 1);
  placer_.flavors["racks"].free_pods = 0;
  EXPECT_EQ(world_.Assign(job).Mode(), FlavorMode::kPreempt);
  EXPECT_EQ(placer_.places, 2) << "nobody is to be evicted for a broken node: no second question";
}

TEST_F(FlavorTopologyTest, LeaderWithoutRequests_FollowsItsGroup) {
  auto& queue = Queue(10, 0);
  queue.resource_groups = {Group({{"racks", "cpu", 10}})};
  TopologyRequest request = Required("rack");
  const PodSets alone = {OnTopology(Pods("leader", 1, {}), request),
                         OnTopology(Pods("workers", 2, {{"cpu", 1}}), request)};
  EXPECT_EQ(world_.Assign(alone).Message(),
            "failed to assign flavors to pod set leader: no TAS flavor assigned");
  request.pod_set_group = "ring";
  const PodSets together = {OnTopology(Pods("leader", 1, {}), request),
                            OnTopology(Pods("workers", 2, {{"cpu", 1}}), request)};
  const auto assignment = world_.Assign(together);
  ASSERT_EQ(assignment.Mode(), FlavorMode::kFit) << assignment.Message();
  EXPECT_EQ(assignment.pod_sets[0].flavors.at("cpu").flavor, "racks");
  EXPECT_EQ(placer_.asked.size(), 2u);
  EXPECT_EQ(assignment.ToAdmission("q")->pod_sets[0].usage, (ResourceList{{"cpu", 0}}));
}

TEST_F(FlavorTopologyTest, TwoTopologyFlavorsForOnePodSet_AreAnError) {
  placer_.flavors["more"] = {{"rack"}, 100, 100};
  world_.Flavor("more", {}, {}, "default");
  Queue(10, 0).resource_groups = {Group({{"racks", "cpu", 10}}), Group({{"more", "gpu", 10}})};
  const auto assignment =
      world_.Assign({OnTopology(Pods("main", 1, {{"cpu", 1}, {"gpu", 1}}), Required("rack"))});
  EXPECT_EQ(assignment.Mode(), FlavorMode::kNoFit);
  EXPECT_EQ(assignment.Message(),
            "failed to assign flavors to pod set main: more than one TAS flavor assigned: more, "
            "racks");
  EXPECT_EQ(assignment.no_fit_reason, Reason::kNone) << "no flavor is to blame";
}

TEST_F(FlavorTopologyTest, ElasticJobs_MayOnlyAskForUnconstrainedTopology) {
  Queue(10, 0);
  world_.settings.elastic_jobs_with_tas = true;
  JobRecord job = world_.Job(Asking(2));
  job.elastic = true;
  EXPECT_EQ(world_.Assign(job).Message(),
            "failed to assign flavors to pod set main: required topology is not supported with "
            "ElasticJobsViaWorkloadSlices");
  TopologyRequest anywhere;
  anywhere.unconstrained = true;
  job = world_.Job({OnTopology(Pods("main", 2, {{"cpu", 1}}), anywhere)});
  job.elastic = true;
  const AdmissionPtr before = world_.Assign(job).ToAdmission("q");
  AssignRequest request;
  request.replaced = before.get();
  EXPECT_EQ(world_.Assign(job, request).Mode(), FlavorMode::kFit);
  EXPECT_EQ(placer_.asked.at(0).previous, before->pod_sets[0].topology);
}

}  // namespace
}  // namespace muster::core::testing
