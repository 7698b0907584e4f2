// The sums over a member's nodes and the pods on them, and machines that are alike.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "backends/k8s/node_totals.h"
#include "backends/k8s/pod_loads.h"
#include "schedd/text/json.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

json::object TaintOf(const char* key, const char* effect, const char* value = "") {
  return {{"key", key}, {"value", value}, {"effect", effect}};
}

// A node with its own hostname, 1500m CPU, 2Gi and 10 pods, of which its system reserves some.
json::object NodeOf(const std::string& name, const char* ready = "True", json::object spec = {},
                    json::object labels = {}, const char* cpu = "1500m") {
  labels["kubernetes.io/hostname"] = name;
  return {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
          {"spec", std::move(spec)},
          {"status",
           {{"conditions", json::array{{{"type", "Ready"}, {"status", ready}}}},
            {"capacity", {{"cpu", "2"}, {"memory", "3Gi"}, {"pods", "10"}}},
            {"allocatable", {{"cpu", cpu}, {"memory", "2Gi"}, {"pods", "10"}}}}}};
}

json::object Asking(json::object requests) {
  return {{"name", "c"}, {"resources", {{"requests", std::move(requests)}}}};
}

json::object PodOn(const std::string& uid, const std::string& node, json::object requests,
                   const char* phase = "Running") {
  json::object spec{{"containers", json::array{Asking(std::move(requests))}}};
  if (!node.empty()) spec["nodeName"] = node;
  return {{"metadata", {{"uid", uid}}}, {"spec", std::move(spec)}, {"status", {{"phase", phase}}}};
}

json::object SpecOf(const char* text) { return ParseJson(text).value().as_object(); }

TEST(PodRequestTest, IsWhatTheSchedulerOfAMemberReserves) {
  struct Case {
    const char* name;
    const char* spec;
    ResourceList expected;
  };
  const Case cases[] = {
      {"a pod that asks for nothing takes a place", R"({"containers":[{}]})", {{"pods", 1}}},
      {"containers are added up",
       R"({"containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"}}},
                         {"resources":{"requests":{"cpu":"250m"},"limits":{"cpu":"4"}}}]})",
       {{"cpu", 750}, {"memory", kGi}, {"pods", 1}}},
      {"an init container counts where it asks for more than all that run after it",
       R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],
           "initContainers":[{"resources":{"requests":{"cpu":"3"}}},
                             {"resources":{"requests":{"cpu":"2"}}}]})",
       {{"cpu", 3000}, {"memory", kGi}, {"pods", 1}}},
      {"a sidecar runs beside the containers",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}}]})",
       {{"cpu", 3000}, {"pods", 1}}},
      {"a sidecar runs beside the init containers that come after it, not before",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "initContainers":[{"resources":{"requests":{"cpu":"6"}}},
                             {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},
                             {"resources":{"requests":{"cpu":"5"}}}]})",
       {{"cpu", 7000}, {"pods", 1}}},
      {"what the pod as a whole asks for goes before its containers",
       R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"1Gi"}}}],
           "resources":{"requests":{"cpu":"4"}}})",
       {{"cpu", 4000}, {"memory", kGi}, {"pods", 1}}},
      {"overhead comes on top of all",
       R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
           "initContainers":[{"resources":{"requests":{"cpu":"2"}}}],
           "overhead":{"cpu":"250m","memory":"1Gi"}})",
       {{"cpu", 2250}, {"memory", kGi}, {"pods", 1}}},
      {"what cannot be read is none",
       R"({"containers":[{"resources":{"requests":{"cpu":"lots","memory":7,"x/y":"-1"}}},7,[]],
           "initContainers":"no","overhead":null})",
       {{"pods", 1}}},
  };
  for (const Case& one : cases) {
    const json::object spec = SpecOf(one.spec);
    EXPECT_EQ(PodRequest(Reader(spec)), one.expected) << one.name;
  }
}

TEST(PodLoadsTest, APodCountsOnceWhileItIsBoundAndHasNotEnded) {
  PodLoads loads;
  const auto cpu = [&] { return AmountOf(loads.On("n", PodSide::kOthers), "cpu"); };
  const auto put = [&](const char* node, const char* amount, const char* phase) {
    loads.Put(PodSide::kOthers, PodOn("a", node, {{"cpu", amount}}, phase));
  };
  put("", "1", "Pending");
  EXPECT_EQ(loads.pods(PodSide::kOthers), 0u) << "it is not bound yet";
  put("n", "1", "Pending");
  EXPECT_EQ(cpu(), 1000) << "bound, its images are being fetched";
  put("n", "1", "Running");
  EXPECT_EQ(cpu(), 1000) << "it is the same pod";
  put("n", "3", "Running");
  EXPECT_EQ(cpu(), 3000) << "resized in place";
  put("n", "3", "Unknown");
  EXPECT_EQ(cpu(), 3000) << "its node does not answer: it may still run";
  put("n", "3", "Succeeded");
  EXPECT_TRUE(loads.On("n", PodSide::kOthers).empty());
  put("n", "3", "Running");
  loads.Remove(PodSide::kOthers, PodOn("a", "n", {}));
  EXPECT_TRUE(loads.On("n", PodSide::kOthers).empty());
  EXPECT_EQ(loads.pods(PodSide::kOthers), 0u);
}

TEST(PodLoadsTest, AListReplacesItsSide_AndTellsWhichNodesChanged) {
  PodLoads loads;
  for (const char* uid : {"a", "b", "c"})
    loads.Put(PodSide::kOthers, PodOn(uid, std::string("node-") + uid, {{"cpu", "1"}}));
  loads.Put(PodSide::kOurs, PodOn("o", "node-a", {{"cpu", "2"}}));
  EXPECT_EQ(loads.TakeChanged(), (std::set<std::string>{"node-a", "node-b", "node-c"}));
  loads.BeginList(PodSide::kOthers);
  loads.Put(PodSide::kOthers, PodOn("b", "node-b", {{"cpu", "1"}}));
  // The list had to begin again.
  loads.BeginList(PodSide::kOthers);
  loads.Put(PodSide::kOthers, PodOn("a", "node-a", {{"cpu", "1"}}));
  loads.EndList(PodSide::kOthers);
  EXPECT_EQ(loads.TakeChanged(), (std::set<std::string>{"node-b", "node-c"}));
  EXPECT_EQ(loads.pods(PodSide::kOthers), 1u);
  EXPECT_EQ(AmountOf(loads.On("node-a", PodSide::kOthers), "cpu"), 1000);
  EXPECT_EQ(AmountOf(loads.On("node-a", PodSide::kOurs), "cpu"), 2000);
  loads.Forget(PodSide::kOthers);
  EXPECT_EQ(loads.TakeChanged(), (std::set<std::string>{"node-a"}));
  EXPECT_TRUE(loads.On("node-a", PodSide::kOthers).empty());
  EXPECT_EQ(AmountOf(loads.On("node-a", PodSide::kOurs), "cpu"), 2000);
}

TEST(PodLoadsTest, AmountsBeyondCounting_CanBeTakenOffAgain) {
  PodLoads loads;
  for (const char* uid : {"a", "b", "c"})
    loads.Put(PodSide::kOthers, PodOn(uid, "n", {{"memory", "7Ei"}}));
  loads.Put(PodSide::kOthers, PodOn("d", "n", {{"memory", "1Gi"}}));
  for (const char* uid : {"a", "b", "c"}) loads.Remove(PodSide::kOthers, PodOn(uid, "n", {}));
  EXPECT_EQ(AmountOf(loads.On("n", PodSide::kOthers), "memory"), kGi);
}

// Nodes and pods of one member.
class NodeTotalsTest : public ::testing::Test {
 protected:
  void List(const std::vector<json::object>& nodes) {
    totals_.BeginList();
    for (const json::object& node : nodes) totals_.Put(node);
    totals_.EndList();
    totals_.Sum(&loads_);
  }
  void Put(PodSide side, const json::object& pod) {
    loads_.Put(side, pod);
    totals_.Sum(&loads_);
  }
  std::int64_t Cpu(const ResourceList& of) const { return AmountOf(of, "cpu"); }
  const MachineGroups& machines() const { return *totals_.machines(); }

  PodLoads loads_;
  NodeTotals totals_;
};

TEST_F(NodeTotalsTest, AllocatableIsOfNodesThatTakePods_CapacityOfAll) {
  List({NodeOf("a"),
        NodeOf("b", "True", {{"taints", json::array{TaintOf("nvidia.com/gpu", "NoSchedule")}}}),
        NodeOf("c", "False"), NodeOf("d", "True", {{"unschedulable", true}}),
        NodeOf("e", "True",
               {{"taints",
                 json::array{TaintOf("node-role.kubernetes.io/control-plane", "NoSchedule")}}},
               {}, "many")});
  EXPECT_EQ(totals_.usable(), 2u);
  EXPECT_EQ(totals_.nodes(), 5u);
  EXPECT_EQ(totals_.allocatable(),
            (ResourceList{{"cpu", 3000}, {"memory", 4 * kGi}, {"pods", 20}}));
  EXPECT_EQ(totals_.capacity(), (ResourceList{{"cpu", 10000}, {"memory", 15 * kGi}, {"pods", 50}}));
  totals_.Remove(NodeOf("a"));
  totals_.Sum(&loads_);
  EXPECT_EQ(Cpu(totals_.allocatable()), 1500);
  EXPECT_EQ(Cpu(totals_.capacity()), 8000);
  totals_.Put(NodeOf("b", "True", {}, {}, "lots"));
  totals_.Sum(&loads_);
  EXPECT_EQ(Cpu(totals_.allocatable()), 0) << "an amount that cannot be read is none";
}

TEST_F(NodeTotalsTest, OthersTakeRoomOnNodesThatTakePods_AndNeverMoreThanThereIs) {
  List({NodeOf("a"), NodeOf("b"), NodeOf("away", "False")});
  EXPECT_TRUE(totals_.used_by_others().empty());
  Put(PodSide::kOthers, PodOn("1", "a", {{"cpu", "500m"}, {"not.here/tpu", "4"}}));
  Put(PodSide::kOthers, PodOn("2", "away", {{"cpu", "1"}}));
  Put(PodSide::kOthers, PodOn("3", "gone", {{"cpu", "1"}}));
  Put(PodSide::kOurs, PodOn("4", "a", {{"cpu", "1"}}));
  EXPECT_EQ(totals_.used_by_others(), (ResourceList{{"cpu", 500}, {"pods", 1}}));
  Put(PodSide::kOthers, PodOn("5", "b", {{"cpu", "90"}}));
  EXPECT_EQ(totals_.used_by_others(), (ResourceList{{"cpu", 2000}, {"pods", 2}}))
      << "bound past the scheduler: it takes what b has, nothing of a";
  totals_.Put(NodeOf("b", "False"));
  totals_.Sum(&loads_);
  EXPECT_EQ(totals_.used_by_others(), (ResourceList{{"cpu", 500}, {"pods", 1}}));
  totals_.Put(NodeOf("b"));
  totals_.Put(NodeOf("away"));
  totals_.Sum(&loads_);
  EXPECT_EQ(Cpu(totals_.used_by_others()), 3000);
}

TEST_F(NodeTotalsTest, PodsThatWereKnownBeforeTheNodes_Count) {
  loads_.Put(PodSide::kOthers, PodOn("1", "a", {{"cpu", "1"}}));
  totals_.Sum(&loads_);
  EXPECT_EQ(totals_.machines(), nullptr) << "nothing is known of its machines yet";
  List({NodeOf("a")});
  EXPECT_EQ(Cpu(totals_.used_by_others()), 1000);
  EXPECT_EQ(Cpu(machines()[0].free), 500);
}

TEST_F(NodeTotalsTest, MachinesThatAreAlikeAreOneGroup_LargerFreeCpuFirst) {
  const json::object gpu{
      {"taints", json::array{TaintOf("b", "NoSchedule", "1"), TaintOf("soft", "PreferNoSchedule"),
                             TaintOf("a", "NoExecute")}}};
  const json::object turned{
      {"taints", json::array{TaintOf("a", "NoExecute"), TaintOf("b", "NoSchedule", "1")}}};
  List({NodeOf("a", "True", {}, {{"zone", "1"}}), NodeOf("b", "True", {}, {{"zone", "1"}}),
        NodeOf("c", "True", {}, {{"zone", "2"}}),
        NodeOf("d", "True", gpu, {{"zone", "2"}}, "1800m"),
        NodeOf("e", "True", turned, {{"zone", "2"}}, "1800m"), NodeOf("f", "False")});
  const ResourceList whole{{"cpu", 1500}, {"memory", 2 * kGi}, {"pods", 10}};
  const ResourceList larger{{"cpu", 1800}, {"memory", 2 * kGi}, {"pods", 10}};
  const std::vector<Taint> taints{{"a", "", "NoExecute"}, {"b", "1", "NoSchedule"}};
  EXPECT_EQ(machines(), (MachineGroups{{{{"zone", "2"}}, taints, larger, 2},
                                       {{{"zone", "1"}}, {}, whole, 2},
                                       {{{"zone", "2"}}, {}, whole, 1}}));
  const auto before = totals_.machines();
  totals_.Put(NodeOf("a", "True", {}, {{"zone", "1"}}));
  totals_.Sum(&loads_);
  EXPECT_EQ(totals_.machines(), before) << "nothing new: the same object";
  // Pods of both sides reduce the free amounts; no amount goes below zero.
  loads_.Put(PodSide::kOthers, PodOn("1", "a", {{"cpu", "1"}}));
  loads_.Put(PodSide::kOurs, PodOn("2", "a", {{"cpu", "400m"}, {"memory", "9Gi"}}));
  totals_.Sum(&loads_);
  const ResourceList rest{{"cpu", 100}, {"memory", 0}, {"pods", 8}};
  EXPECT_EQ(machines(), (MachineGroups{{{{"zone", "2"}}, taints, larger, 2},
                                       {{{"zone", "1"}}, {}, whole, 1},
                                       {{{"zone", "2"}}, {}, whole, 1},
                                       {{{"zone", "1"}}, {}, rest, 1}}));
  EXPECT_EQ(Cpu(totals_.used_by_others()), 1000) << "ours are counted by what was admitted";
}

TEST_F(NodeTotalsTest, ALaterListReplacesTheNodes) {
  List({NodeOf("a"), NodeOf("b")});
  Put(PodSide::kOthers, PodOn("1", "a", {{"cpu", "1"}}));
  totals_.BeginList();
  totals_.Put(NodeOf("z"));
  // The list had to begin again.
  totals_.BeginList();
  totals_.Put(NodeOf("a"));
  totals_.Sum(&loads_);
  EXPECT_EQ(totals_.nodes(), 2u) << "until the list is whole the old one holds";
  totals_.EndList();
  totals_.Sum(&loads_);
  EXPECT_EQ(totals_.nodes(), 1u);
  EXPECT_EQ(Cpu(totals_.used_by_others()), 1000);
  EXPECT_EQ(machines()[0].count, 1);
  EXPECT_EQ(Cpu(machines()[0].free), 500);
}

TEST_F(NodeTotalsTest, WhatIsKeptUpOverTime_IsWhatWouldBeReadAtOnce) {
  std::mt19937 dice(7);  // NOLINT: the same on every run
  const auto roll = [&](int sides) {
    return static_cast<int>(dice() % static_cast<unsigned>(sides));
  };
  std::map<std::string, json::object> nodes;
  std::map<std::string, json::object> pods[2];
  List({});
  for (int step = 0; step < 600; ++step) {
    if (roll(4) == 0) {
      const std::string name = "n" + std::to_string(roll(5));
      const json::object node =
          NodeOf(name, roll(5) == 0 ? "False" : "True", {}, {{"zone", std::to_string(roll(2))}});
      if (roll(6) == 0) {
        totals_.Remove(node);
        nodes.erase(name);
      } else {
        totals_.Put(node);
        nodes[name] = node;
      }
    } else {
      const int side = roll(2);
      const std::string uid = std::to_string(roll(12));
      const json::object pod = PodOn(uid, roll(8) == 0 ? "" : "n" + std::to_string(roll(5)),
                                     {{"cpu", std::to_string(roll(9) * 100) + "m"}},
                                     roll(6) == 0 ? "Failed" : "Running");
      if (roll(6) == 0) {
        loads_.Remove(static_cast<PodSide>(side), pod);
        pods[side].erase(uid);
      } else {
        loads_.Put(static_cast<PodSide>(side), pod);
        pods[side][uid] = pod;
      }
    }
    if (roll(3) != 0) continue;
    totals_.Sum(&loads_);
    PodLoads loads;
    NodeTotals fresh;
    for (const int side : {0, 1}) {
      for (const auto& [uid, pod] : pods[side]) loads.Put(static_cast<PodSide>(side), pod);
    }
    fresh.BeginList();
    for (const auto& [name, node] : nodes) fresh.Put(node);
    fresh.EndList();
    fresh.Sum(&loads);
    ASSERT_EQ(totals_.allocatable(), fresh.allocatable()) << "step " << step;
    ASSERT_EQ(totals_.capacity(), fresh.capacity()) << "step " << step;
    ASSERT_EQ(totals_.used_by_others(), fresh.used_by_others()) << "step " << step;
    ASSERT_EQ(*totals_.machines(), *fresh.machines()) << "step " << step;
    ASSERT_EQ(totals_.usable(), fresh.usable()) << "step " << step;
  }
}

}  // namespace
}  // namespace muster::k8s
