// Topology aware flavors on what members declare of their machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/text/json.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

ObjectChange FlavorOnHosts() {
  ObjectChange change = FlavorObject("default");
  change.manifest =
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ResourceFlavor","metadata":{"name":"default"},)"
      R"("spec":{"nodeLabels":{"pool":"a"},"topologyName":"hosts"}})";
  return change;
}

ObjectChange HostsTopology() {
  ObjectChange change;
  change.kind = ObjectKind::kTopology;
  change.name = "hosts";
  change.manifest =
      R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Topology","metadata":{"name":"hosts"},)"
      R"("spec":{"levels":[{"nodeLabel":"rack"},{"nodeLabel":"kubernetes.io/hostname"}]}})";
  return change;
}

// Two racks of two machines with 2 cpu each.
ObjectChange MemberWithMachines() {
  json::array nodes;
  for (const char* name : {"a1", "a2", "b1", "b2"}) {
    nodes.push_back(json::object{{"name", name},
                                 {"labels", {{"pool", "a"}, {"rack", std::string(1, name[0])}}},
                                 {"allocatable", {{"cpu", "2"}, {"pods", "10"}}}});
  }
  ObjectChange change = MemberObject("east", {{"cpu", 8000}});
  json::value manifest = *ParseJson(change.manifest);
  manifest.at("metadata").at("annotations").as_object()["muster.io/nodes"] = WriteJson(nodes);
  change.manifest = WriteJson(manifest);
  return change;
}

JobSpec InOneRack(const std::string& name, std::int32_t pods) {
  JobSpec spec;
  spec.name = name;
  spec.pods = {Pods{pods, {{"cpu", 1000}}}};
  spec.required_topology = "rack";
  return spec;
}

TEST(Topology, PodsStandOnDeclaredMachinesOfOneRackAndTheirRoomIsTaken) {
  EngineWorld world;
  ASSERT_TRUE(world
                  .Apply({NamespaceObject("default"), HostsTopology(), FlavorOnHosts(),
                          ClusterQueueObject({.nominal = {{"cpu", 8000}}}),
                          LocalQueueObject("queue", "cq"), MemberWithMachines()})
                  .ok());
  const JobId first = world.Submit(InOneRack("first", 3))->id;
  const JobId second = world.Submit(InOneRack("second", 3))->id;
  const JobId third = world.Submit(InOneRack("third", 2))->id;
  world.Run();
  ASSERT_EQ(world.StateOf(first), JobState::kRunning);
  const auto& placed = world.Job(first)->admission->pod_sets[0].topology;
  ASSERT_NE(placed, nullptr);
  std::int32_t pods = 0;
  for (const TopologyDomain& domain : placed->domains) pods += domain.count;
  EXPECT_EQ(pods, 3);
  EXPECT_EQ(world.StateOf(second), JobState::kRunning);
  EXPECT_EQ(world.StateOf(third), JobState::kPending) << "one cpu is left in each rack";
  EXPECT_THAT(world.Job(third)->message, testing::HasSubstr("topology"));
  world.Restart();
  world.Run();
  EXPECT_EQ(world.StateOf(third), JobState::kPending) << "what runs is charged after a restart";
  world.members.End(world.KeyOf(first), RemotePhase::kSucceeded);
  world.Run();
  EXPECT_EQ(world.StateOf(third), JobState::kRunning);
}

}  // namespace
}  // namespace muster::test
