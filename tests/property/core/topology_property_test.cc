// Properties of placement on random machine rooms: no leaf over its capacity, every pod placed, the
// promise of the request kept, room given back exactly.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "schedd/core/placer/topology_node_placer.h"
#include "schedd/core/topology/topology_assignment.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

struct Room {
  ConfigView config;
  AdmissionSettings settings;
  MemberCluster member;
  TopologyForestPtr forest;
};

Room RandomRoom(Dice* dice) {
  Room room;
  room.settings.tas_profile_mixed = dice->Chance(50);
  room.settings.tas_balanced_placement = dice->Chance(40);
  room.settings.tas_overlapping_flavors = dice->Chance(70);
  room.settings.tas_preferred_affinity = dice->Chance(20);
  std::vector<std::string> levels = {"block", "rack"};
  if (dice->Chance(80)) levels.emplace_back(kHost);
  room.config.topologies["t"] = {"t", levels};
  for (const char* name : {"f1", "f2"}) {
    ResourceFlavor& flavor = room.config.flavors[name];
    flavor.name = name;
    flavor.topology = "t";
    if (dice->Chance(30)) flavor.node_labels["pool"] = name;
  }
  const auto hosts = dice->Roll(1, 14);
  for (std::int64_t i = 0; i < hosts; ++i) {
    Node& node = room.member.nodes.emplace_back();
    node.name = "h" + std::to_string(100 + i);
    const std::string block = std::to_string(dice->Roll(1, 2));
    node.labels = {{"block", block},
                   {"rack", block + std::to_string(dice->Roll(1, 3))},
                   {"pool", dice->Chance(50) ? "f1" : "f2"},
                   {kHost, node.name}};
    node.allocatable = {{"cpu", dice->Roll(0, 9)}, {"gpu", dice->Roll(0, 4)}, {"pods", 6}};
    if (dice->Chance(20)) node.used_by_others = {{"cpu", dice->Roll(0, 9)}, {"pods", 1}};
    node.ready = !dice->Chance(5);
  }
  const MemberCluster* members[] = {&room.member};
  room.forest = TopologyForest::Build(room.config, members, room.settings);
  return room;
}

TopologyRequest RandomRequest(Dice* dice, const std::vector<std::string>& levels,
                              std::int32_t* multiple) {
  TopologyRequest request;
  const auto level = static_cast<std::size_t>(dice->Roll(0, static_cast<int>(levels.size()) - 1));
  const auto mode = dice->Roll(1, 3);
  if (mode == 1) request.required = levels[level];
  if (mode == 2) request.preferred = levels[level];
  if (mode == 3) request.unconstrained = true;
  *multiple = 1;
  if (mode == 3 || dice->Chance(60)) return request;
  const auto slice = static_cast<std::size_t>(
      dice->Roll(static_cast<int>(level), static_cast<int>(levels.size()) - 1));
  *multiple = static_cast<std::int32_t>(dice->Roll(1, 2) * 2);
  request.slice_layers = {{levels[slice], *multiple}};
  if (slice + 1 < levels.size() && dice->Chance(50))
    request.slice_layers.push_back({levels.back(), 2});
  return request;
}

PodSets RandomPodSets(Dice* dice, const Room& room) {
  const auto& levels = room.config.topologies.at("t").levels;
  std::int32_t multiple = 1;
  auto request = RandomRequest(dice, levels, &multiple);
  const bool grouped = !request.unconstrained && request.slice_layers.empty() && dice->Chance(40);
  if (grouped) request.pod_set_group = "g";
  PodSets pod_sets(grouped || dice->Chance(20) ? 2 : 1);
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    PodSet& pod_set = pod_sets[i];
    pod_set.name = "p" + std::to_string(i);
    pod_set.count = i == 0 ? static_cast<std::int32_t>(dice->Roll(1, 5)) * multiple : 1;
    pod_set.requests = {{"cpu", dice->Roll(0, 3)}, {"gpu", dice->Chance(30) ? 1 : 0}};
    if (i > 0 && !grouped) request = {};
    if (i > 0 && !grouped) request.unconstrained = true;
    pod_set.topology = std::make_shared<const TopologyRequest>(request);
  }
  return pod_sets;
}

struct Running {
  PodSets pod_sets;
  Admission admission;
};

// What each node has free, counted anew from the admissions and nothing else. Only for topologies
// that end at hosts.
std::map<std::string, std::map<std::string, std::int64_t>> FreeByNode(
    const Room& room, const std::vector<Running>& running) {
  std::map<std::string, std::map<std::string, std::int64_t>> free;
  for (const auto& node : room.member.nodes) {
    for (const auto& one : node.allocatable) free[node.name][one.resource] += one.amount;
    for (const auto& one : node.used_by_others) free[node.name][one.resource] -= one.amount;
  }
  for (const auto& job : running) {
    for (std::size_t i = 0; i < job.pod_sets.size(); ++i) {
      for (const auto& domain : job.admission.pod_sets[i].topology->domains) {
        auto& amounts = free[domain.values.back()];
        amounts["pods"] -= domain.count;
        for (const auto& one : job.pod_sets[i].requests)
          amounts[one.resource] -= one.amount * domain.count;
      }
    }
  }
  return free;
}

// The pods of an assignment by the domain of a level.
std::map<DomainIndex, std::int32_t> PodsByDomain(const TopologyTree& tree,
                                                 const TopologyAssignment& assignment,
                                                 const std::string& level) {
  std::map<DomainIndex, std::int32_t> pods;
  for (const auto& domain : assignment.domains) {
    const DomainIndex leaf = tree.DomainOf(tree.FindLeaf(domain.values));
    pods[tree.AncestorAt(leaf, tree.LevelIndex(level))] += domain.count;
  }
  return pods;
}

void CheckPromise(const Room& room, const PodSet& pod_set, const TopologyAssignment& assignment,
                  const std::string& flavor) {
  const TopologyTree& tree = *room.forest->Tree(0, flavor);
  const TopologyRequest& request = *pod_set.topology;
  RC_ASSERT(CountPods(assignment) == pod_set.count);
  if (request.required)
    RC_ASSERT(PodsByDomain(tree, assignment, *request.required).size() == std::size_t{1});
  for (const auto& layer : request.slice_layers) {
    for (const auto& [domain, pods] : PodsByDomain(tree, assignment, layer.level))
      RC_ASSERT(pods % layer.size == 0);
  }
  for (const auto& domain : assignment.domains) RC_ASSERT(domain.count > 0);
}

std::vector<TopologyAsk> AsksOf(const PodSets& pod_sets, const std::string& flavor) {
  std::vector<TopologyAsk> asks;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    TopologyAsk& ask = asks.emplace_back();
    ask.pod_set = i;
    ask.spec = &pod_sets[i];
    ask.count = pod_sets[i].count;
    ask.flavor = flavor;
  }
  return asks;
}

Admission AdmissionOf(const PodSets& pod_sets, const TopologyPlacement& placement,
                      const std::string& flavor) {
  Admission admission;
  admission.pod_sets.resize(pod_sets.size());
  for (const auto& [index, assignment] : placement.placed) {
    PodSetAssignment& held = admission.pod_sets[index];
    held.name = pod_sets[index].name;
    held.flavors["cpu"] = flavor;
    held.topology = assignment;
  }
  return admission;
}

// Leader and workers of a group share the domain that they require.
void CheckTogether(const Room& room, const PodSets& pod_sets, const Admission& admission,
                   const std::string& flavor) {
  const TopologyRequest& request = *pod_sets[0].topology;
  if (request.pod_set_group.empty() || !request.required) return;
  const TopologyTree& tree = *room.forest->Tree(0, flavor);
  const auto domain_of = [&](std::size_t pod_set) {
    const auto& assignment = *admission.pod_sets[pod_set].topology;
    return PodsByDomain(tree, assignment, *request.required).begin()->first;
  };
  RC_ASSERT(domain_of(0) == domain_of(1));
}

// Whether single pods with no promise to keep would fit, however they are spread.
bool FitsSomehow(const Room& room, const TopologyUsage& usage, const PodSet& pod_set,
                 const std::string& flavor) {
  const TopologyTree& tree = *room.forest->Tree(0, flavor);
  std::int64_t pods = 0;
  for (LeafIndex leaf = 0; leaf < tree.leaf_count(); ++leaf) {
    std::int64_t here = 0;
    const auto free = [&](const char* resource) {
      const auto at = static_cast<std::size_t>(room.forest->ResourceIndex(resource));
      return tree.Capacity(leaf)[at] - usage.At(tree.Slot(leaf))[at];
    };
    while (here < pod_set.count && free("pods") >= here + 1 &&
           free("cpu") >= (here + 1) * AmountOf(pod_set.requests, "cpu") &&
           free("gpu") >= (here + 1) * AmountOf(pod_set.requests, "gpu"))
      ++here;
    pods += here;
  }
  return pods >= pod_set.count;
}

// No machine of the last job is over what it has, of all that the job asks for.
void CheckRoom(const Room& room, const std::vector<Running>& running) {
  auto free = FreeByNode(room, running);
  const Running& last = running.back();
  for (std::size_t i = 0; i < last.pod_sets.size(); ++i) {
    for (const auto& domain : last.admission.pod_sets[i].topology->domains) {
      RC_ASSERT(free[domain.values.back()]["pods"] >= 0);
      for (const auto& one : last.pod_sets[i].requests)
        RC_ASSERT(one.amount == 0 || free[domain.values.back()][one.resource] >= 0);
    }
  }
}

RC_GTEST_PROP(TopologyProperty, PlacementsKeepEveryPromise_AndEveryLeafItsCapacity,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const Room room = RandomRoom(&dice);
  TopologyUsage usage(room.forest);
  const TopologyUsage empty = usage;
  NodePlacer placer(&usage, room.settings);
  const bool at_hosts = room.config.topologies.at("t").levels.back() == kHost;
  std::vector<Running> running;
  for (int step = 0; step < 25; ++step) {
    if (!running.empty() && dice.Chance(30)) {
      const auto at =
          static_cast<std::size_t>(dice.Roll(0, static_cast<std::int64_t>(running.size()) - 1));
      const Running& job = running[at];
      usage.Release(ChargesOn(*room.forest, job.pod_sets, job.admission, ""));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const std::string flavor = dice.Chance(70) ? "f1" : "f2";
    const PodSets pod_sets = RandomPodSets(&dice, room);
    const auto asks = AsksOf(pod_sets, flavor);
    const TopologyUsage before = usage;
    const auto placement = placer.Place({}, asks, false);
    RC_ASSERT(usage == before);
    RC_ASSERT(placer.CanPlace({}, asks) == !placement.failed);
    if (placement.failed) {
      const TopologyRequest& request = *pod_sets[0].topology;
      const bool free_to_spread = !request.required && request.slice_layers.empty();
      if (pod_sets.size() == 1 && free_to_spread)
        RC_ASSERT(!FitsSomehow(room, usage, pod_sets[0], flavor));
      continue;
    }
    const Admission admission = AdmissionOf(pod_sets, placement, flavor);
    for (std::size_t i = 0; i < pod_sets.size(); ++i)
      CheckPromise(room, pod_sets[i], *admission.pod_sets[i].topology, flavor);
    CheckTogether(room, pod_sets, admission, flavor);
    const auto charges = ChargesOn(*room.forest, pod_sets, admission, "");
    RC_ASSERT(usage.Fits(charges));
    usage.Charge(charges);
    running.push_back({pod_sets, admission});
    if (at_hosts && room.settings.tas_overlapping_flavors) CheckRoom(room, running);
  }
  for (const auto& job : running)
    usage.Release(ChargesOn(*room.forest, job.pod_sets, job.admission, ""));
  RC_ASSERT(usage == empty);
}

}  // namespace
}  // namespace muster::core::testing
