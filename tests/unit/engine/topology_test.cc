// Topology aware flavors on the machines that members declare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "schedd/model/admission_lifecycle.h"
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

// Two racks of two machines with 2 CPUs each, without those in `gone`. Machine `other` has the
// fields of `says` too.
ObjectChange MemberWithMachines(const std::set<std::string>& gone = {},
                                const std::string& other = "", const json::object& says = {}) {
  json::array nodes;
  for (const std::string name : {"a1", "a2", "b1", "b2"}) {
    if (gone.contains(name)) continue;
    json::object node{{"name", name},
                      {"labels", {{"pool", "a"}, {"rack", name.substr(0, 1)}}},
                      {"allocatable", {{"cpu", "2"}, {"pods", "10"}}}};
    if (name == other) {
      for (const auto& member : says) node[member.key()] = member.value();
    }
    nodes.push_back(std::move(node));
  }
  ObjectChange change = MemberObject("east", {{"cpu", 8000}});
  json::value manifest = *ParseJson(change.manifest);
  manifest.at("metadata").at("annotations").as_object()["muster.io/nodes"] = WriteJson(nodes);
  change.manifest = WriteJson(manifest);
  return change;
}

ObjectChange OnKubernetes(ObjectChange member) {
  json::value manifest = *ParseJson(member.manifest);
  manifest.at("metadata").at("annotations").as_object()["muster.io/backend"] = "kubernetes";
  member.manifest = WriteJson(manifest);
  return member;
}

JobSpec InOneRack(const std::string& name, std::int32_t pods) {
  JobSpec spec;
  spec.name = name;
  spec.pods = {Pods{pods, {{"cpu", 1000}}}};
  spec.required_topology = "rack";
  return spec;
}

void DeclareRacks(EngineWorld* world) {
  ASSERT_TRUE(world
                  ->Apply({NamespaceObject("default"), HostsTopology(), FlavorOnHosts(),
                           ClusterQueueObject({.nominal = {{"cpu", 8000}}}),
                           LocalQueueObject("queue", "cq"), MemberWithMachines()})
                  .ok());
}

// "a1:2 a2:1"
std::string Machines(const EngineWorld& world, JobId id) {
  std::string text;
  for (const TopologyDomain& domain : world.Job(id)->admission->pod_sets[0].topology->domains) {
    text += (text.empty() ? "" : " ") + domain.values.back() + ":" + std::to_string(domain.count);
  }
  return text;
}

JobId RunningInOneRack(EngineWorld* world, const std::string& name, std::int32_t pods) {
  const JobId id = world->Submit(InOneRack(name, pods))->id;
  world->Run();
  EXPECT_EQ(world->StateOf(id), JobState::kRunning) << name;
  return id;
}

void PassSecondPass(EngineWorld* world) {
  world->clock.Advance(1000);
  world->Run();
}

TEST(NodeFailures, AFailedMachineIsReplacedInTheSameRackAndTheJobRunsOn) {
  const struct {
    const char* what;
    ObjectChange change;
    bool fails;
  } cases[] = {
      {"it is gone", MemberWithMachines({"a1"}), true},
      {"it is not ready", MemberWithMachines({}, "a1", {{"ready", false}}), true},
      {"it drives pods away",
       MemberWithMachines({}, "a1",
                          {{"taints", json::array{{{"key", "broken"}, {"effect", "NoExecute"}}}}}),
       true},
      {"it only takes no more pods",
       MemberWithMachines({}, "a1",
                          {{"taints", json::array{{{"key", "full"}, {"effect", "NoSchedule"}}}}}),
       false},
      {"another one is gone", MemberWithMachines({"a2"}), false},
  };
  for (const auto& one : cases) {
    EngineWorld world;
    DeclareRacks(&world);
    const JobId id = RunningInOneRack(&world, "job", 2);
    ASSERT_EQ(Machines(world, id), "a1:2") << one.what;
    ASSERT_TRUE(world.Apply({one.change}).ok()) << one.what;
    EXPECT_EQ(StateOf(*world.Job(id)).unhealthy_nodes.size(), one.fails ? 1U : 0U) << one.what;
    world.Restart();
    world.Run();
    PassSecondPass(&world);
    EXPECT_EQ(Machines(world, id), one.fails ? "a2:2" : "a1:2") << one.what;
    EXPECT_TRUE(StateOf(*world.Job(id)).unhealthy_nodes.empty()) << one.what;
    EXPECT_EQ(world.StateOf(id), JobState::kRunning) << one.what;
    EXPECT_EQ(world.Job(id)->attempt, 1) << one.what;
    EXPECT_EQ(world.UsedCpu(), 2000) << one.what;
  }
}

TEST(NodeFailures, WithoutAReplacementTheJobLeavesAndGoesElsewhere) {
  EngineWorld world;
  DeclareRacks(&world);
  const JobId id = RunningInOneRack(&world, "job", 4);
  ASSERT_EQ(Machines(world, id), "a1:2 a2:2");
  ASSERT_TRUE(world.Apply({MemberWithMachines({"a2"})}).ok());
  world.clock.Advance(1000);
  world.Settle();
  const Condition* evicted = FindCondition(*world.Job(id), "Evicted");
  ASSERT_NE(evicted, nullptr);
  EXPECT_EQ(evicted->reason, "NodeFailures");
  EXPECT_EQ(evicted->message,
            "Workload was evicted as there was no replacement for unhealthy node(s): a2");
  world.Run();
  EXPECT_EQ(world.StateOf(id), JobState::kRunning);
  EXPECT_EQ(world.Job(id)->attempt, 2);
  EXPECT_EQ(Machines(world, id), "b1:2 b2:2");
}

TEST(NodeFailures, TwoFailedMachinesCostThePlaceAtOnce) {
  EngineWorld world;
  DeclareRacks(&world);
  const JobId id = RunningInOneRack(&world, "job", 4);
  ASSERT_TRUE(world.Apply({MemberWithMachines({"a1"})}).ok());
  EXPECT_FALSE(IsTrue(*world.Job(id), "Evicted"));
  ASSERT_TRUE(world.Apply({MemberWithMachines({"a1", "a2"})}).ok());
  EXPECT_EQ(FindCondition(*world.Job(id), "Evicted")->message,
            "Workload eviction triggered due to multiple TAS assigned node failures, including: "
            "a1, a2");
  world.Run();
  EXPECT_EQ(Machines(world, id), "b1:2 b2:2");
}

TEST(NodeFailures, AMachineThatComesBackInTimeIsNotReplaced) {
  EngineWorld world;
  DeclareRacks(&world);
  const JobId id = RunningInOneRack(&world, "job", 2);
  ASSERT_TRUE(world.Apply({MemberWithMachines({"a1"})}).ok());
  ASSERT_TRUE(world.Apply({MemberWithMachines()}).ok());
  EXPECT_TRUE(StateOf(*world.Job(id)).unhealthy_nodes.empty());
  PassSecondPass(&world);
  EXPECT_EQ(Machines(world, id), "a1:2");
}

// A job that was made on a Kubernetes member has pinned its pods: only another attempt can use
// other machines.
TEST(NodeFailures, Case38_OnAKubernetesMember_TheGangLeavesWholeAndIsMadeAnewElsewhere) {
  for (const bool bound : {false, true}) {
    EngineWorld world;
    world.members.two_steps = true;
    DeclareRacks(&world);
    ASSERT_TRUE(world.Apply({OnKubernetes(MemberWithMachines())}).ok());
    const JobId id = world.Submit(InOneRack("gang", 4))->id;
    // Made and suspended; its release is being sent.
    world.members.Carry();
    world.Settle();
    if (bound) world.Run();
    ASSERT_EQ(Machines(world, id), "a1:2 a2:2");
    const DispatchKey first = world.KeyOf(id);
    ASSERT_TRUE(world.Apply({OnKubernetes(MemberWithMachines({"a2"}))}).ok());
    const Condition* evicted = FindCondition(*world.Job(id), "Evicted");
    ASSERT_NE(evicted, nullptr);
    EXPECT_EQ(evicted->message,
              "Workload was evicted as its pods on member cluster east cannot leave unhealthy "
              "node(s): a2");
    world.Run();
    EXPECT_EQ(world.StateOf(id), JobState::kRunning);
    EXPECT_EQ(Machines(world, id), "b1:2 b2:2");
    EXPECT_EQ(world.Job(id)->attempt, 2);
    EXPECT_FALSE(world.members.objects.contains(first));
    EXPECT_LE(world.members.most_active_of_one_job, 1U) << "I1";
    EXPECT_LE(world.members.starts[first], 1) << "I1";
    EXPECT_EQ(world.UsedCpu(), 4000) << "I4";
  }
}

TEST(NodeFailures, WithTheGateOffNothingHappens) {
  AdmissionSettings settings;
  settings.tas_failed_node_replacement = false;
  EngineWorld world(1, OptionsWith(settings));
  DeclareRacks(&world);
  const JobId id = RunningInOneRack(&world, "job", 2);
  ASSERT_TRUE(world.Apply({MemberWithMachines({"a1", "a2"})}).ok());
  PassSecondPass(&world);
  EXPECT_EQ(Machines(world, id), "a1:2");
  EXPECT_TRUE(StateOf(*world.Job(id)).unhealthy_nodes.empty());
}

TEST(Topology, PodsStandOnDeclaredMachinesOfOneRackAndTheirRoomIsTaken) {
  EngineWorld world;
  DeclareRacks(&world);
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
