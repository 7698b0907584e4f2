// Topology aware scheduling: trees of machines, the capacity that is taken, and where pods are
// placed.
#include <gtest/gtest.h>

#include "schedd/core/topology/topology_assignment.h"
#include "tests/unit/core/machines.h"

namespace muster::core::testing {
namespace {

// --- trees ---------------------------------------------------------------------------------------

std::string LeavesOf(const TopologyTree& tree) {
  std::string text;
  for (LeafIndex leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    text += (leaf == 0 ? "" : " ") + tree.AssignmentValues(leaf).back();
  }
  return text;
}

TEST(TopologyForest, ATree_HasTheNodesThatMayTakePods_InTheOrderOfTheirLevelValues) {
  MachineRoom room;
  room.Flavor("tas").node_labels = {{"pool", "gpu"}};
  room.AddAll({"b2 r1 e 1", "b1 r2 a 1", "b1 r1 d 1", "b1 r1 c 1", "b1 r1 x1 1", "b1 r1 x2 1",
               "b1 r1 x3 1", "b1 r1 x4 1"});
  auto& nodes = room.members[0].nodes;
  for (auto& node : nodes) node.labels["pool"] = "gpu";
  nodes[4].ready = false;
  nodes[5].unschedulable = true;
  nodes[6].labels.erase("rack");
  nodes[7].labels["pool"] = "cpu";
  const auto forest = room.Forest();
  const TopologyTree& tree = *forest->Tree(0, "tas");
  EXPECT_EQ(LeavesOf(tree), "c d a e");
  EXPECT_EQ(tree.Level(0).end - tree.Level(0).begin, 2);
  EXPECT_EQ(tree.Level(1).end - tree.Level(1).begin, 3);
  const DomainRange below = tree.Below(0, 2);  // b1
  EXPECT_EQ(below.end - below.begin, 3);
  const LeafIndex a = tree.FindLeaf({"a"});
  EXPECT_EQ(tree.AncestorAt(tree.DomainOf(a), 0), 0);
  EXPECT_EQ(tree.FindLeaf({"x1"}), -1);
  EXPECT_EQ(tree.FindLeaf({"b1", "r2", "a"}), -1) << "a machine is named by its host alone";
}

TEST(TopologyForest, ATreeThatEndsAboveHosts_AddsUpItsNodes_AndNamesEveryLevel) {
  MachineRoom room;
  room.Levels({"block", "rack"}).AddAll({"b1 r1 a 3", "b1 r1 b 4", "b1 r2 c 5"});
  room.members[0].nodes[1].used_by_others = {{"cpu", 1000}, {"pods", 2}};
  const auto forest = room.Forest();
  const TopologyTree& tree = *forest->Tree(0, "tas");
  const LeafIndex r1 = tree.FindLeaf({"b1", "r1"});
  ASSERT_GE(r1, 0);
  EXPECT_EQ(tree.leaf_count(), 2);
  EXPECT_EQ(tree.Capacity(r1)[forest->ResourceIndex("cpu")], 6000);
  EXPECT_EQ(tree.Capacity(r1)[forest->ResourceIndex("pods")], 218);
  EXPECT_EQ(tree.AssignmentLevels(), (std::vector<std::string>{"block", "rack"}));
}

TEST(TopologyForest, WithoutMembers_TreesExistWithoutNodes) {
  MachineRoom room;
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  EXPECT_TRUE(placer.Knows("tas"));
  EXPECT_FALSE(placer.Knows("other"));
  const PodSets pods = {Workers(1, 1, Required("rack"))};
  EXPECT_EQ(Text(placer.Place({}, AsksFor(pods), false)), "no: no topology domains at level: rack");
}

// --- what is taken -------------------------------------------------------------------------------

TopologyCharges ChargesFor(const TopologyForest& forest, const std::string& flavor,
                           const TopologyAssignmentPtr& where, std::string_view cluster = "") {
  const PodSets pods = {Workers(1, 2, {})};
  TopologyPlacement placement;
  placement.placed.emplace_back(0, where);
  return ChargesOn(forest, pods, AdmissionOf(pods, placement, flavor), cluster);
}

TEST(TopologyUsage, WhatWasCharged_IsFreeAgainAfterItsRelease) {
  MachineRoom room;
  const auto forest = room.AddAll({"b r a 4", "b r b 4"}).Forest();
  TopologyUsage usage(forest);
  const TopologyUsage empty = usage;
  const auto charges = ChargesFor(*forest, "tas", OnHosts({{"a", 1}, {"b", 2}}));
  EXPECT_TRUE(usage.Fits(charges));
  usage.Charge(charges);
  EXPECT_FALSE(usage.Fits(charges)) << "b is full";
  EXPECT_TRUE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 1}}))));
  usage.Release(charges);
  EXPECT_EQ(usage, empty);
}

TEST(TopologyUsage, PodsCountAsWellAsWhatTheyAskFor) {
  MachineRoom room;
  SetAmount(&room.Add("b r a 100").allocatable, "pods", 2);
  const auto forest = room.Forest();
  TopologyUsage usage(forest);
  EXPECT_TRUE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 2}}))));
  EXPECT_FALSE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 3}}))));
}

TEST(TopologyUsage, FlavorsOnTheSameMachines_ShareTheirRoom_UnlessTheGateIsOff) {
  for (const bool shared : {true, false}) {
    MachineRoom room;
    room.Flavor("other");
    room.settings.tas_overlapping_flavors = shared;
    const auto forest = room.AddAll({"b r a 4"}).Forest();
    TopologyUsage usage(forest);
    usage.Charge(ChargesFor(*forest, "other", OnHosts({{"a", 2}})));
    EXPECT_NE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 1}}))), shared);
  }
}

TEST(TopologyUsage, AMachineThatIsGone_HoldsNothing_AndFitsNothing) {
  MachineRoom room;
  const auto forest = room.AddAll({"b r a 4"}).Forest();
  TopologyUsage usage(forest);
  const TopologyUsage empty = usage;
  const auto stale = ChargesFor(*forest, "tas", OnHosts({{"gone", 1}}));
  EXPECT_FALSE(usage.Fits(stale));
  usage.Charge(stale);
  EXPECT_EQ(usage, empty);
  EXPECT_TRUE(ChargesFor(*forest, "tas", nullptr).empty()) << "a pod set without a topology";
}

TEST(TopologyUsage, MachinesOfOneNameInTwoClusters_AreTwo) {
  MachineRoom room;
  room.Cluster("m1");
  room.Add("b r a 4");
  room.Cluster("m2");
  room.Add("b r a 4");
  const auto forest = room.Forest();
  TopologyUsage usage(forest);
  usage.Charge(ChargesFor(*forest, "tas", OnHosts({{"a", 2}}), "m2"));
  EXPECT_TRUE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 2}}), "m1")));
  EXPECT_FALSE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 2}}), "m2")));
  EXPECT_FALSE(usage.Fits(ChargesFor(*forest, "tas", OnHosts({{"a", 1}}), "m3")));
}

TEST(TopologyUsage, ASecondPass_IsChargedOnlyForWhatItAdds) {
  MachineRoom room;
  const auto forest = room.AddAll({"b r a 4", "b r b 4", "b r c 4"}).Forest();
  const auto held = ChargesFor(*forest, "tas", OnHosts({{"a", 2}, {"b", 1}}));
  const auto moved = ChargesFor(*forest, "tas", OnHosts({{"a", 2}, {"b", 2}, {"c", 1}}));
  EXPECT_EQ(NetCharges(moved, held), ChargesFor(*forest, "tas", OnHosts({{"b", 1}, {"c", 1}})));
  EXPECT_TRUE(NetCharges(held, moved).empty());
}

// --- where pods go -------------------------------------------------------------------------------

struct PlaceCase {
  const char* name;
  std::vector<std::string> rows;
  PodSets pods;
  std::string want;
  void (*change)(MachineRoom*) = nullptr;
};

PodSet Leader(std::int64_t cores, const TopologyRequest& request) {
  PodSet leader = Workers(1, cores, request);
  leader.name = "leader";
  return leader;
}

TopologyRequest InGroup(TopologyRequest request) {
  request.pod_set_group = "g";
  return request;
}

PodSet On(PodSet pods, const SchedulingConstraints& constraints) {
  pods.constraints = std::make_shared<const SchedulingConstraints>(constraints);
  return pods;
}

SchedulingConstraints Selecting(const std::string& key, const std::string& value) {
  SchedulingConstraints constraints;
  constraints.node_selector[key] = value;
  return constraints;
}

SchedulingConstraints Preferring(const std::string& host) {
  SchedulingConstraints constraints;
  constraints.preferred_terms.push_back({10, {{{kHost, "In", {host}}}}});
  return constraints;
}

SchedulingConstraints InBlock(const std::string& block) {
  SchedulingConstraints constraints;
  constraints.has_required_affinity = true;
  constraints.required_terms.push_back({{{"block", "In", {block}}}});
  return constraints;
}

void MixedProfileOff(MachineRoom* room) { room->settings.tas_profile_mixed = false; }
void Balanced(MachineRoom* room) { room->settings.tas_balanced_placement = true; }
void RespectPreferred(MachineRoom* room) { room->settings.tas_preferred_affinity = true; }
void OneLayer(MachineRoom* room) { room->settings.tas_multi_layer = false; }
void TaintA(MachineRoom* room) {
  room->members[0].nodes[0].taints = {{"gpu", "yes", "NoSchedule"}, {"x", "", "PreferNoSchedule"}};
}
void TaintAToleratedByFlavor(MachineRoom* room) {
  TaintA(room);
  room->Flavor("tas").tolerations = {{"gpu", "Exists", "", "", std::nullopt}};
}
void OthersOnA(MachineRoom* room) {
  room->members[0].nodes[0].used_by_others = {{"cpu", 3000}, {"pods", 1}};
}

const std::vector<std::string> kTwoRacks = {"b r1 a 2", "b r1 b 4", "b r2 c 3", "b r2 d 3"};

const std::vector<PlaceCase>& PlaceCases() {
  static const auto& cases = *new std::vector<PlaceCase>{
      {"best fit takes the smallest rack that holds all",
       {"b r1 a 4", "b r2 b 3", "b r3 c 5"},
       {Workers(3, 1, Required("rack"))},
       "b=3"},
      {"within the rack the largest host first and the rest where it fits best",
       {"b r1 a 2", "b r1 b 4", "b r1 c 1"},
       {Workers(5, 1, Required("rack"))},
       "b=4 c=1"},
      {"required never leaves its level", kTwoRacks, {Workers(7, 1, Required("rack"))},
       "no: topology \"default\" allows to fit only 6 out of 7 pod(s)"},
      {"preferred goes up to the block", kTwoRacks, {Workers(7, 1, Preferred("rack"))},
       "b=4 c=3"},
      {"preferred spreads over blocks when none holds all",
       {"b1 r a 2", "b2 r b 3", "b3 r c 1"},
       {Workers(4, 1, Preferred("rack"))},
       "b=3 c=1"},
      {"unconstrained fills the fullest host that holds all",
       kTwoRacks, {Workers(2, 1, Unconstrained())}, "a=2"},
      {"unconstrained takes the fullest hosts first when none holds all",
       kTwoRacks, {Workers(6, 1, Unconstrained())}, "a=2 c=3 d=1"},
      {"without the mixed profile unconstrained is best fit",
       kTwoRacks, {Workers(6, 1, Unconstrained())}, "a=2 b=4", MixedProfileOff},
      {"a queue of topology flavors places what asks for none",
       kTwoRacks,
       {[] {
         PodSet pods = Workers(2, 1, {});
         pods.topology = nullptr;
         return pods;
       }()},
       "a=2"},
      {"slices stay whole inside their rack",
       {"b r1 a 3", "b r1 b 2", "b r2 c 3"},
       {Workers(6, 1, Sliced(Required("block"), "rack", 2))},
       "a=2 b=2 c=2"},
      {"slices are what is counted when they do not fit",
       {"b r1 a 3", "b r2 b 3"},
       {Workers(6, 1, Sliced(Required("block"), "rack", 2))},
       "no: topology \"default\" allows to fit only 2 out of 3 slice(s)"},
      {"only slices asked for: anywhere, from the top",
       {"b1 r1 a 3", "b2 r2 b 3"},
       {Workers(4, 1, Sliced({}, "rack", 2))},
       "a=2 b=2"},
      {"inner slices make hosts give whole pieces",
       {"b r1 a 3", "b r1 b 3", "b r2 c 4"},
       {Workers(4, 1, Sliced(Sliced(Required("block"), "rack", 4), kHost, 2))},
       "a=2 b=2"},
      {"layers that do not fit are told layer by layer",
       {"b r1 a 3", "b r1 b 1"},
       {Workers(4, 1, Sliced(Sliced(Required("block"), "rack", 4), kHost, 2))},
       "no: topology \"default\" doesn't allow to fit; 0/1 slice(s) fit on level rack; "
       "1/2 slice(s) fit on level kubernetes.io/hostname"},
      {"with the gate off only the outermost layer counts",
       {"b r1 a 3", "b r1 b 1"},
       {Workers(4, 1, Sliced(Sliced(Required("block"), "rack", 4), kHost, 2))},
       "a=3 b=1",
       OneLayer},
      {"a slice level above the pods' own is refused",
       kTwoRacks, {Workers(2, 1, Sliced(Required("rack"), "block", 2))},
       "no: podset slice topology block is above the podset topology rack"},
      {"an inner size that does not divide the outer is refused",
       kTwoRacks, {Workers(6, 1, Sliced(Sliced(Required("block"), "rack", 3), kHost, 2))},
       "no: additional slice layer size 2 must evenly divide parent layer size 3"},
      {"an inner layer has to be lower",
       kTwoRacks, {Workers(6, 1, Sliced(Sliced(Required("block"), "rack", 2), "block", 1))},
       "no: additional slice layer topology block must be at a lower level than rack"},
      {"the leader goes where its workers are",
       {"b r1 a 3", "b r2 b 4"},
       {Workers(3, 1, InGroup(Required("rack"))), Leader(1, InGroup(Required("rack")))},
       "b=3 | b=1"},
      {"the leader takes the host that loses fewest workers",
       {"b r a 4", "b r b 3"},
       {Workers(3, 2, InGroup(Required("rack"))), Leader(1, InGroup(Required("rack")))},
       "a=2 b=1 | b=1"},
      {"workers and leader that do not fit together fit nowhere",
       {"b r a 3"},
       {Workers(3, 1, InGroup(Required("rack"))), Leader(1, InGroup(Required("rack")))},
       "no: topology \"default\" allows to fit only 3 out of 3 pod(s)"},
      {"pod sets of no group see what those before them took",
       {"b r1 a 3", "b r2 b 4"},
       {Workers(3, 1, Required(kHost)), Leader(2, Required(kHost))},
       "a=3 | b=1"},
      {"a taint keeps pods away and is told",
       {"b r a 4"}, {Workers(1, 1, Required("rack"))},
       "no: topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
       "taint \"gpu=yes:NoSchedule\": 1",
       TaintA},
      {"the flavor's tolerations are the pods' too",
       {"b r a 4"}, {Workers(1, 1, Required("rack"))}, "a=1", TaintAToleratedByFlavor},
      {"node selector, affinity and lack of room are told apart",
       {"b1 r a 4", "b2 r b 4", "b2 r c 4", "b2 r d 0"},
       {On(On(Workers(1, 5, Required("rack")), Selecting("rack", "r")), InBlock("b2"))},
       "no: topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 4; excluded: "
       "affinity: 1, resource \"cpu\": 3"},
      {"a selector that no node meets",
       {"b1 r a 4"}, {On(Workers(1, 1, Required("rack")), Selecting("rack", "other"))},
       "no: topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
       "nodeSelector: 1"},
      {"pods of others take room",
       {"b r a 4", "b r b 2"}, {Workers(2, 1, Required(kHost))}, "b=2", OthersOnA},
      {"a resource that no machine has is told",
       {"b r a 4"},
       {[] {
         PodSet pods = Workers(1, 1, Required("rack"));
         SetAmount(&pods.requests, "fpga", 1);
         return pods;
       }()},
       "no: topology \"default\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
       "resource \"fpga\": 1"},
      {"preferred machines come first when the gate is on",
       {"b r a 4", "b r b 2", "b r c 3"},
       {On(Workers(2, 1, Required(kHost)), Preferring("c"))},
       "c=2",
       RespectPreferred},
      {"and do not matter when it is off",
       {"b r a 4", "b r b 2", "b r c 3"},
       {On(Workers(2, 1, Required(kHost)), Preferring("c"))},
       "b=2"},
      {"a preferred machine that is too small is passed over",
       {"b r a 4", "b r b 2", "b r c 1"},
       {On(Workers(2, 1, Required(kHost)), Preferring("c"))},
       "b=2",
       RespectPreferred},
      {"balanced placement gives hosts equal shares",
       {"b r a 5", "b r b 4", "b r c 1"}, {Workers(6, 1, Preferred("rack"))}, "a=3 b=3",
       Balanced},
      {"without it they are filled one after the other",
       {"b r a 5", "b r b 4", "b r c 1"}, {Workers(6, 1, Preferred("rack"))}, "a=5 c=1"},
      {"an unknown level is named",
       kTwoRacks, {Workers(1, 1, Required("row"))}, "no: no requested topology level: row"},
  };
  return cases;
}

TEST(NodePlacer, WherePodsGo) {
  for (const auto& one : PlaceCases()) {
    SCOPED_TRACE(one.name);
    MachineRoom room;
    room.AddAll(one.rows);
    if (one.change != nullptr) one.change(&room);
    TopologyUsage usage(room.Forest());
    NodePlacer placer(&usage, room.settings);
    const auto asks = AsksFor(one.pods);
    const auto placement = placer.Place({}, asks, false);
    EXPECT_EQ(Text(placement), one.want);
    EXPECT_EQ(placer.CanPlace({}, asks), !placement.failed);
    EXPECT_EQ(Text(placer.Place({}, asks, false)), one.want) << "the second time";
  }
}

TEST(NodePlacer, AnEmptyCluster_IsOneWithoutAdmittedPods_NotWithoutThoseOfOthers) {
  MachineRoom room;
  room.AddAll({"b r a 4"});
  OthersOnA(&room);
  const auto forest = room.Forest();
  TopologyUsage usage(forest);
  NodePlacer placer(&usage, room.settings);
  const PodSets one = {Workers(1, 1, Required("rack"))}, two = {Workers(2, 1, Required("rack"))};
  usage.Charge(
      ChargesOn(*forest, one, AdmissionOf(one, placer.Place({}, AsksFor(one), false)), ""));
  EXPECT_TRUE(placer.Place({}, AsksFor(one), false).failed);
  EXPECT_FALSE(placer.Place({}, AsksFor(one), true).failed);
  EXPECT_TRUE(placer.Place({}, AsksFor(two), true).failed);
}

TEST(NodePlacer, LevelsOfARequest_MustAllBeThere) {
  MachineRoom room;
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  EXPECT_TRUE(placer.HasLevels("tas", Required("rack")));
  EXPECT_TRUE(placer.HasLevels("tas", Unconstrained()));
  EXPECT_FALSE(placer.HasLevels("tas", Preferred("row")));
  EXPECT_FALSE(placer.HasLevels("tas", {}));
  const auto layered = Sliced(Sliced(Required("block"), "rack", 2), "row", 1);
  EXPECT_FALSE(placer.HasLevels("tas", layered));
  room.settings.tas_multi_layer = false;
  EXPECT_TRUE(placer.HasLevels("tas", layered));
}

TEST(NodePlacer, WhatReadyChecksAdd_NarrowsTheMachines) {
  MachineRoom room;
  room.AddAll({"b r1 a 4", "b r2 b 8"});
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  const PodSets pods = {Workers(2, 1, Required("rack"))};
  AdmissionState state;
  AdmissionCheckStatus check;
  check.name = "provision";
  check.updates = {{"main", {}, {}, {{"rack", "r2"}}, {}}, {"other", {}, {}, {{"rack", "r9"}}, {}}};
  const auto place = [&](CheckState is) {
    check.state = is;
    state.checks = {check};
    JobRecord job;
    job.admission_state = std::make_shared<const AdmissionState>(state);
    return Text(placer.Place(job, AsksFor(pods), false));
  };
  EXPECT_EQ(place(CheckState::kReady), "b=2");
  EXPECT_EQ(place(CheckState::kPending), "a=2");
  check.updates.push_back({"main", {}, {}, {{"rack", "r1"}}, {}});
  EXPECT_EQ(place(CheckState::kReady),
            "no: invalid podSetUpdate for PodSet main, error: invalid admission check "
            "PodSetUpdate: conflict for nodeSelector: conflict for key=rack, value1=r2, value2=r1");
}

// --- clusters ------------------------------------------------------------------------------------

TEST(NodePlacer, AllPodSetsOfAJob_GoToOneCluster_TheFirstOpenOneWithRoom) {
  MachineRoom room;
  room.Cluster("m1");
  room.AddAll({"b r a 2"});
  room.Cluster("m2").cordoned = true;
  room.AddAll({"b r a 9"});
  room.Cluster("m3");
  room.AddAll({"b r a 2", "b r b 2"});
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  PodSets pods = {Workers(2, 1, Required(kHost)), Leader(1, Required(kHost))};
  auto placement = placer.Place({}, AsksFor(pods), false);
  EXPECT_EQ(Text(placement), "a=2 | b=1");
  EXPECT_EQ(placement.cluster, "m3");
  pods.pop_back();
  EXPECT_EQ(placer.Place({}, AsksFor(pods), false).cluster, "m1");
  pods[0].count = 3;
  EXPECT_EQ(Text(placer.Place({}, AsksFor(pods), false)),
            "no: topology \"default\" allows to fit only 2 out of 3 pod(s)");
}

TEST(NodePlacer, AJobThatHoldsMachines_StaysOnItsCluster_EvenIfThatIsClosed) {
  MachineRoom room;
  room.Cluster("m1");
  room.AddAll({"b r c 9"});
  room.Cluster("m2").cordoned = true;
  room.AddAll({"b r b 2", "b r c 2"});
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  const PodSets pods = {Workers(2, 1, Required("rack"))};
  TopologyPlacement held;
  held.placed.emplace_back(0, OnHosts({{"a", 1}, {"b", 1}}));
  JobRecord job;
  job.admission = std::make_shared<const Admission>(AdmissionOf(pods, held));
  job.cluster = "m2";
  AdmissionState state;
  state.unhealthy_nodes = {"a"};
  job.admission_state = std::make_shared<const AdmissionState>(state);
  const auto placement = placer.Place(job, AsksFor(pods), false);
  EXPECT_EQ(Text(placement), "b=2");
  EXPECT_EQ(placement.cluster, "m2");
  job.cluster = "gone";
  EXPECT_EQ(Text(placer.Place(job, AsksFor(pods), false)),
            "no: member cluster \"gone\" is not known any more");
}

TEST(NodePlacer, WithEveryClusterClosed_ThereIsNoPlace) {
  MachineRoom room;
  room.Cluster("m1").healthy = false;
  room.AddAll({"b r a 2"});
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  const PodSets pods = {Workers(1, 1, Required("rack"))};
  EXPECT_EQ(Text(placer.Place({}, AsksFor(pods), true)),
            "no: no member cluster is open for new pods");
}

// --- nodes that failed ---------------------------------------------------------------------------

struct RepairCase {
  const char* name;
  TopologyRequest request;
  std::vector<std::pair<std::string, std::int32_t>> held;
  std::string want;
  bool owned_by_pod = false;
  bool keep_pod_owned = true;
};

TEST(NodePlacer, AFailedNode_IsReplacedByMachinesThatKeepThePromise) {
  // Node x has failed and is gone. r1 has room for 1 more, r2 for 3, r3 (another block) for 8.
  const std::vector<std::string> rows = {"b1 r1 a 2", "b1 r1 b 2", "b1 r2 c 3", "b2 r3 d 8"};
  const std::vector<RepairCase> cases = {
      {"required: inside the same rack", Required("rack"), {{"a", 1}, {"x", 1}}, "a=2"},
      {"required: not enough room in that rack",
       Required("rack"),
       {{"a", 2}, {"x", 3}},
       "no: topology \"default\" allows to fit only 2 out of 3 pod(s). Total nodes: 4; excluded: "
       "resource \"cpu\": 1, topologyDomain: 2"},
      {"required, and nothing else is left: anywhere", Required("rack"), {{"x", 2}}, "c=2"},
      {"preferred: anywhere", Preferred("rack"), {{"a", 2}, {"x", 3}}, "a=2 c=3"},
      {"a broken slice is completed in its rack",
       Sliced(Required("block"), "rack", 4),
       {{"a", 2}, {"b", 1}, {"x", 1}},
       "a=2 b=2"},
      {"a broken inner slice is completed on its host",
       Sliced(Sliced(Required("block"), "rack", 2), kHost, 2),
       {{"a", 1}, {"x", 1}},
       "a=2"},
      {"whole slices that are missing go where there is room for them",
       Sliced(Required("block"), "rack", 2),
       {{"a", 2}, {"x", 2}},
       "a=2 b=2"},
      {"a machine that is gone as well cannot be repaired",
       Required("rack"),
       {{"x", 1}, {"y", 1}},
       "no: Cannot replace the node, because the existing topologyAssignment is invalid, as it "
       "contains the stale domain y"},
      {"a pod set that was not on it keeps its place and gets none",
       Required("rack"),
       {{"a", 1}},
       "no: cannot find replacement assignment for unhealthy node: x"},
      {"a lone pod stays", Required("rack"), {{"x", 1}}, "x=1", true},
      {"a lone pod moves with the gate off", Required("rack"), {{"x", 1}}, "c=1", true, false},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    MachineRoom room;
    room.settings.skip_reassignment_for_pods = one.keep_pod_owned;
    const auto forest = room.AddAll(rows).Forest();
    TopologyPlacement held;
    held.placed.emplace_back(0, OnHosts(one.held));
    const PodSets pods = {Workers(CountPods(*held.placed[0].second), 1, one.request)};
    JobRecord job;
    job.admission = std::make_shared<const Admission>(AdmissionOf(pods, held));
    AdmissionState state;
    state.unhealthy_nodes = {"x"};
    state.owned_by_pod = one.owned_by_pod;
    job.admission_state = std::make_shared<const AdmissionState>(state);
    TopologyUsage usage(forest);
    usage.Charge(ChargesOn(*forest, pods, *job.admission, ""));
    NodePlacer placer(&usage, room.settings);
    EXPECT_EQ(Text(placer.Place(job, AsksFor(pods), false)), one.want);
  }
}

// --- elastic jobs --------------------------------------------------------------------------------

struct ElasticCase {
  const char* name;
  std::int32_t count;
  std::vector<std::pair<std::string, std::int32_t>> previous;
  std::string want;
  bool gate = true;
};

TEST(NodePlacer, AnElasticJob_GrowsAndShrinksWhereItRuns) {
  const std::vector<std::string> rows = {"b r a 2", "b r b 2", "b r c 4"};
  const std::vector<ElasticCase> cases = {
      {"grows by new pods only", 4, {{"b", 2}, {"c", 1}}, "a=1 b=2 c=1"},
      {"a running pod takes room from new ones", 6, {{"a", 2}, {"c", 3}}, "a=2 c=4"},
      {"shrinks from the end", 2, {{"c", 1}, {"a", 2}}, "c=1 a=1"},
      {"stays as it is", 3, {{"c", 1}, {"a", 2}}, "c=1 a=2"},
      {"starts afresh when a machine is gone", 2, {{"gone", 1}}, "a=2"},
      {"starts afresh with the gate off", 2, {{"c", 1}}, "a=2", false},
      {"grows beyond the room",
       9,
       {{"a", 2}},
       "no: topology \"default\" allows to fit only 6 out of 7 pod(s). Total nodes: 3; excluded: "
       "resource \"cpu\": 1"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    MachineRoom room;
    room.settings.elastic_jobs_with_tas = one.gate;
    TopologyUsage usage(room.AddAll(rows).Forest());
    NodePlacer placer(&usage, room.settings);
    const PodSets pods = {Workers(one.count, 1, Unconstrained())};
    auto asks = AsksFor(pods);
    asks[0].previous = OnHosts(one.previous);
    EXPECT_EQ(Text(placer.Place({}, asks, false)), one.want);
  }
}

TEST(NodePlacer, AnElasticJob_GrowsOnTheClusterWhereItRuns) {
  MachineRoom room;
  room.settings.elastic_jobs_with_tas = true;
  room.Cluster("m1");
  room.AddAll({"b r a 9"});
  room.Cluster("m2");
  room.AddAll({"b r z 9"});
  TopologyUsage usage(room.Forest());
  NodePlacer placer(&usage, room.settings);
  const PodSets pods = {Workers(3, 1, Unconstrained())};
  auto asks = AsksFor(pods);
  asks[0].previous = OnHosts({{"z", 2}});
  const auto placement = placer.Place({}, asks, false);
  EXPECT_EQ(Text(placement), "z=3");
  EXPECT_EQ(placement.cluster, "m2");
}

}  // namespace
}  // namespace muster::core::testing
