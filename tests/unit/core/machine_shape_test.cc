// MachineShape, and the member clusters that are rejected because of their machines.
#include "schedd/core/topology/machine_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/core/member/member_fit.h"
#include "tests/unit/core/world.h"

namespace muster::core::testing {
namespace {

using ::testing::ElementsAre;

constexpr const char* kGpu = "nvidia.com/gpu";

MachineGroup Alike(std::int32_t count, const ResourceList& free, const LabelMap& labels = {},
                   const std::vector<Taint>& taints = {}) {
  return {labels, taints, free, count};
}

std::shared_ptr<const MachineGroups> Told(const MachineGroups& groups) {
  return std::make_shared<const MachineGroups>(groups);
}

class MachineShapeTest : public ::testing::Test {
 protected:
  // How many of the pods have room; these take it.
  std::int32_t Take(MachineShape* shape, const PodSet& pods,
                    const std::vector<const ResourceFlavor*>& flavors = {}) {
    const auto compiled = shape->Compile({&pods, flavors, pods.count, false});
    const std::int32_t room = shape->RoomFor(compiled);
    EXPECT_EQ(shape->Take(compiled), room) << "both say the same";
    return room;
  }
  // Free amounts of `resource` with the number of machines that have them, most machines first.
  static std::map<std::int64_t, std::int32_t> Free(const MachineShape& shape,
                                                   const std::string& resource) {
    std::map<std::int64_t, std::int32_t> machines;
    for (const MachineGroup& group : shape.Groups()) {
      machines[AmountOf(group.free, resource)] += group.count;
    }
    return machines;
  }
  PlacementChoice Put(const PodSets& pod_sets, const std::string& flavor = "") {
    Admission admission;
    for (const auto& pods : pod_sets) {
      PodSetAssignment& one = admission.pod_sets.emplace_back();
      one.name = pods.name;
      one.count = pods.count;
      for (const auto& request : pods.requests) {
        if (!flavor.empty()) one.flavors[request.resource] = flavor;
      }
    }
    PlacementDemand demand;
    demand.pod_sets = &pod_sets;
    demand.admission = &admission;
    return Place(world_.config(), world_.clusters(), demand, true);
  }

  World world_;
};

TEST_F(MachineShapeTest, PodsFitWholeOnOneMachine_SumsDoNotCount) {
  struct Row {
    const char* name;
    MachineGroups groups;
    PodSet pods;
    std::int32_t room;
  };
  const std::vector<Row> rows = {
      {"two of eight on three machines with four free each: none",
       {Alike(3, {{"cpu", 4}})},
       Pods("a", 2, {{"cpu", 8}}),
       0},
      {"as many as a machine holds, on each",
       {Alike(3, {{"cpu", 9}})},
       Pods("a", 10, {{"cpu", 4}}),
       6},
      {"the tightest resource decides",
       {Alike(1, {{"cpu", 100}, {"memory", 5}})},
       Pods("a", 9, {{"cpu", 1}, {"memory", 2}}),
       2},
      {"pods are counted where the machine counts them",
       {Alike(1, {{"cpu", 100}, {"pods", 3}})},
       Pods("a", 9, {{"cpu", 1}}),
       3},
      {"what no machine declares limits devices only",
       {Alike(1, {{"cpu", 4}})},
       Pods("a", 4, {{"cpu", 1}, {"memory", 7}}),
       4},
      {"a device that no machine has",
       {Alike(1, {{"cpu", 4}})},
       Pods("a", 4, {{"cpu", 1}, {kGpu, 1}}),
       0},
      {"no machines at all", {}, Pods("a", 1, {{"cpu", 1}}), 0},
  };
  for (const Row& row : rows) {
    MachineShape shape(Told(row.groups));
    EXPECT_EQ(Take(&shape, row.pods), row.room) << row.name;
  }
}

TEST_F(MachineShapeTest, LabelsTaintsAndAffinity_SayWhichMachines) {
  MachineShape shape(Told(
      {Alike(2, {{"cpu", 4}}, {{"disk", "ssd"}, {"gpu", "a100"}}, {{"lab", "x", "NoSchedule"}}),
       Alike(1, {{"cpu", 4}}, {{"disk", "hdd"}})}));
  const auto room = [&](const SchedulingConstraints& constraints, const ResourceFlavor& flavor) {
    MachineShape copy = shape;
    return Take(&copy, With(Pods("a", 9, {{"cpu", 4}}), constraints), {&flavor});
  };
  ResourceFlavor any;
  SchedulingConstraints none, tolerant;
  tolerant.tolerations = {{"lab", "Exists", "", "", {}}};
  EXPECT_EQ(room(none, any), 1);
  EXPECT_EQ(room(tolerant, any), 3);
  ResourceFlavor a100;
  a100.node_labels = {{"gpu", "a100"}};
  EXPECT_EQ(room(none, a100), 0);
  a100.tolerations = tolerant.tolerations;
  EXPECT_EQ(room(none, a100), 2) << "the flavor tolerates for its pods";
  SchedulingConstraints selects = tolerant;
  selects.node_selector = {{"disk", "hdd"}, {"kubernetes.io/hostname", "h1"}};
  EXPECT_EQ(room(selects, any), 1) << "names of machines are not known";
  SchedulingConstraints affine = tolerant;
  affine.has_required_affinity = true;
  affine.required_terms = {{{{"disk", "In", {"ssd"}}}}, {{{"gpu", "DoesNotExist", {}}}}};
  EXPECT_EQ(room(affine, any), 3) << "one of the terms is enough";
  affine.required_terms.pop_back();
  EXPECT_EQ(room(affine, any), 2);
}

TEST_F(MachineShapeTest, DevicesAreLeftToThoseThatUseThem) {
  MachineShape shape(Told({Alike(1, {{"cpu", 8}, {kGpu, 4}}), Alike(1, {{"cpu", 4}})}));
  EXPECT_EQ(Take(&shape, Pods("plain", 4, {{"cpu", 1}})), 4);
  EXPECT_EQ(Take(&shape, Pods("gpus", 4, {{"cpu", 2}, {kGpu, 1}})), 4)
      << "the machine with devices is untouched";
}

TEST_F(MachineShapeTest, StartedMachinesAreFilledBeforeOthers) {
  MachineShape shape(Told({Alike(4, {{"cpu", 4}})}));
  EXPECT_EQ(Take(&shape, Pods("a", 1, {{"cpu", 1}})), 1);
  EXPECT_EQ(Take(&shape, Pods("b", 3, {{"cpu", 1}})), 3);
  EXPECT_EQ(Take(&shape, Pods("c", 4, {{"cpu", 4}})), 3);
  EXPECT_EQ(Free(shape, "cpu"), (std::map<std::int64_t, std::int32_t>{{0, 4}}));
}

TEST_F(MachineShapeTest, ReleasedPods_ComeFromTheFullestMachines_SpreadEvenly) {
  MachineShape shape(Told({Alike(2, {{"cpu", 0}}), Alike(2, {{"cpu", 8}})}));
  const PodSet pods = Pods("a", 2, {{"cpu", 4}});
  shape.Release(shape.Compile({&pods, {}, 2, false}));
  EXPECT_EQ(Free(shape, "cpu"), (std::map<std::int64_t, std::int32_t>{{4, 2}, {8, 2}}));
  const PodSet many = Pods("a", 5, {{"cpu", 1}});
  shape.Release(shape.Compile({&many, {}, 5, false}));
  EXPECT_EQ(Free(shape, "cpu"), (std::map<std::int64_t, std::int32_t>{{5, 1}, {6, 1}, {9, 2}}));
}

TEST_F(MachineShapeTest, AllPodSetsAtOnce_TheLargestFirst) {
  MachineShape shape(Told({Alike(1, {{"cpu", 10}}), Alike(1, {{"cpu", 6}})}));
  const PodSet small = Pods("small", 4, {{"cpu", 1}});
  const PodSet large = Pods("large", 2, {{"cpu", 6}});
  const auto pack = [&](std::int32_t count) {
    MachineShape copy = shape;
    return PackAll({copy.Compile({&small, {}, count, false}), copy.Compile({&large, {}, 2, false})},
                   true, &copy);
  };
  EXPECT_FALSE(pack(4)) << "in the order given, the small ones would take a machine of a large one";
  const auto misfit = pack(5);
  ASSERT_TRUE(misfit);
  EXPECT_EQ(misfit->pods, 0u);
  EXPECT_EQ(misfit->room, 4);
}

TEST_F(MachineShapeTest, MemberWithEnoughInSum_ButNotOnMachines_IsTurnedDownInNumbers) {
  world_.Member("east", {{kGpu, 48}}).machines =
      Told({Alike(5, {{kGpu, 4}}), Alike(3, {{kGpu, 8}})});
  world_.clusters()[0].free = {{kGpu, 44}};
  auto choice = Put({Pods("main", 4, {{kGpu, 8}})});
  EXPECT_EQ(choice.cluster, "");
  EXPECT_EQ(choice.reason, Reason::kWaitingForCapacity);
  EXPECT_EQ(choice.message,
            "member cluster east: its 4 pods of 8 nvidia.com/gpu do not fit: machines have room "
            "for 3");
  EXPECT_EQ(choice.verdicts.at(0).filter, "MachineShape");
  EXPECT_TRUE(choice.verdicts[0].eligible);
  EXPECT_EQ(Put({Pods("main", 3, {{kGpu, 8}})}).cluster, "east");
  EXPECT_EQ(Put({Pods("main", 1, {{kGpu, 9}})}).message,
            "member cluster east: its pod of 9 nvidia.com/gpu does not fit: no machine has the "
            "room");
  EXPECT_EQ(Put({Pods("head", 1, {{kGpu, 8}}), Pods("workers", 3, {{kGpu, 8}})}).message,
            "member cluster east: its 3 pods of 8 nvidia.com/gpu (pod set workers) do not fit: "
            "machines have room for 2");
  world_.Flavor("h100", {{"gpu", "h100"}});
  EXPECT_EQ(Put({Pods("main", 1, {{kGpu, 1}})}, "h100").message,
            "member cluster east: its pod of 1 nvidia.com/gpu does not fit: no machine has the "
            "labels and taints that it goes by");
  EXPECT_EQ(Put({Pods("main", 7, {{kGpu, 8}})}).verdicts.at(0).filter, "Capacity")
      << "sums are looked at first";
}

TEST_F(MachineShapeTest, WhereTheBestMemberHasNoMachine_TheNextIsTaken) {
  world_.Member("east", {{kGpu, 64}}).machines = Told({Alike(16, {{kGpu, 4}})});
  world_.Member("west", {{kGpu, 16}}).machines = Told({Alike(2, {{kGpu, 8}})});
  EXPECT_EQ(Put({Pods("main", 2, {{kGpu, 8}})}).cluster, "west");
}

TEST_F(MachineShapeTest, WhatAPodAsksOfItsMachine_IsBeforeTransformations) {
  world_.Member("east", {{"cpu", 64}, {"credits", 100}}).machines = Told({Alike(2, {{"cpu", 4}})});
  PodSet pods = Pods("main", 2, {{"credits", 10}});
  pods.node_requests = std::make_shared<const ResourceList>(ResourceList{{"cpu", 4}});
  EXPECT_EQ(Put({pods}).cluster, "east");
  pods.node_requests = std::make_shared<const ResourceList>(ResourceList{{"cpu", 5}});
  EXPECT_EQ(Put({pods}).cluster, "");
}

TEST_F(MachineShapeTest, PodsOfTopologyFlavors_AreNotJudgedTwice) {
  world_.Flavor("tas").config().flavors["tas"].topology = "racks";
  world_.Member("east", {{kGpu, 64}}).machines = Told({Alike(16, {{kGpu, 4}})});
  EXPECT_EQ(Put({Pods("main", 1, {{kGpu, 8}})}, "tas").cluster, "east");
}

TEST_F(MachineShapeTest, JobsThatStart_TakeTheirMachinesFirst) {
  world_.Member("east", {{kGpu, 32}}).machines = Told({Alike(4, {{kGpu, 8}})});
  auto starting = world_.Job("q", 0, {Pods("main", 2, {{kGpu, 5}})});
  auto admission = std::make_shared<Admission>();
  admission->pod_sets.resize(1);
  admission->pod_sets[0].count = 2;
  starting->admission = admission;
  world_.clusters()[0].starting =
      std::make_shared<const std::vector<JobPtr>>(std::vector<JobPtr>{starting, starting});
  EXPECT_EQ(Put({Pods("main", 4, {{kGpu, 3}})}).cluster, "east");
  EXPECT_EQ(Put({Pods("main", 1, {{kGpu, 4}})}).message,
            "member cluster east: its pod of 4 nvidia.com/gpu does not fit: no machine has the "
            "room");
}

TEST_F(MachineShapeTest, OneCycle_TakesMachinesOffAsItPlaces) {
  world_.Queue("q", "", {{"default", kGpu, 100}});
  world_.Member("east", {{kGpu, 32}}).machines = Told({Alike(4, {{kGpu, 8}})});
  for (int i = 0; i < 4; ++i) world_.Submit("q", 1, {{kGpu, 5}});
  world_.Submit("q", 1, {{kGpu, 4}});
  world_.Submit("q", 2, {{kGpu, 3}});
  const Snapshot snapshot = world_.Take();
  const Plan plan = Decide(snapshot, Input());
  EXPECT_THAT(AdmittedIds(plan), ElementsAre(1, 2, 3, 4, 6));
  EXPECT_THAT(CheckPlan(snapshot, plan), ::testing::IsEmpty());
  ASSERT_EQ(plan.not_admitted.size(), 1u);
  EXPECT_THAT(plan.not_admitted[0].message, ::testing::HasSubstr("no machine has the room"));
  const Snapshot after = Apply(snapshot, plan);
  ASSERT_NE(after.clusters[0].starting, nullptr);
  EXPECT_EQ(after.clusters[0].starting->size(), 5u) << "they take their machines in the next one";
}

TEST_F(MachineShapeTest, Copies_DoNotTakeFromEachOther) {
  world_.Member("east", {{kGpu, 16}}).machines = Told({Alike(2, {{kGpu, 8}})});
  const PodSets pods = {Pods("main", 1, {{kGpu, 8}})};
  PlacementDemand demand;
  demand.pod_sets = &pods;
  MemberRoom room(world_.clusters());
  const MemberFit fit(world_.config(), room, demand);
  fit.Charge(&room, 0);
  MemberRoom copy = room;
  fit.Charge(&copy, 0);
  EXPECT_EQ(fit.Pick(room, {1, 1}, 0), 0u);
  EXPECT_EQ(fit.Pick(copy, {1, 1}, 0), MemberFit::kNone);
  auto admission = std::make_shared<Admission>();
  admission->pod_sets.resize(1);
  admission->pod_sets[0].count = 1;
  copy.Release("east", {{kGpu, 8}});
  copy.ReleasePods("east", std::make_shared<const PodSets>(pods), admission);
  EXPECT_EQ(fit.Pick(copy, {1, 1}, 0), 0u);
}

}  // namespace
}  // namespace muster::core::testing
