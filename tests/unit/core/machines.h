// A small machine room for the tests of topology aware scheduling: nodes by rows such as
// "block rack host cpu=4", pod sets, and placements written as text.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/placer/topology_node_placer.h"

namespace muster::core::testing {

inline constexpr const char* kHost = "kubernetes.io/hostname";

/// One cluster per call of Cluster(); a flavor "tas" on the levels block, rack and host.
class MachineRoom {
 public:
  MachineRoom() {
    config.topologies["default"] = {"default", {"block", "rack", kHost}};
    Flavor("tas");
  }
  MachineRoom& Levels(std::vector<std::string> levels) {
    config.topologies["default"].levels = std::move(levels);
    return *this;
  }
  ResourceFlavor& Flavor(const std::string& name) {
    ResourceFlavor& flavor = config.flavors[name];
    flavor.name = name;
    flavor.topology = "default";
    return flavor;
  }
  MemberCluster& Cluster(const std::string& name) {
    members.emplace_back();
    members.back().name = name;
    return members.back();
  }
  /// "b1 r1 h1 4 2": block, rack, host, cores and gpus (none if left out) of one node of the last
  /// cluster. 110 pods.
  Node& Add(const std::string& row) {
    if (members.empty()) Cluster("m1");
    std::istringstream in(row);
    std::string block, rack, host;
    std::int64_t cores = 0, gpus = 0;
    in >> block >> rack >> host >> cores;
    Node& node = members.back().nodes.emplace_back();
    node.name = host;
    node.labels = {{"block", block}, {"rack", rack}, {kHost, host}};
    node.allocatable = {{"cpu", cores * 1000}, {"pods", 110}};
    if (in >> gpus) SetAmount(&node.allocatable, "gpu", gpus);
    return node;
  }
  MachineRoom& AddAll(const std::vector<std::string>& rows) {
    for (const auto& row : rows) Add(row);
    return *this;
  }
  TopologyForestPtr Forest() const {
    std::vector<const MemberCluster*> list;
    for (const auto& member : members) list.push_back(&member);
    return TopologyForest::Build(config, list, settings);
  }

  ConfigView config;
  AdmissionSettings settings;
  std::vector<MemberCluster> members;
};

/// `count` pods of `cores` each.
inline PodSet Workers(std::int32_t count, std::int64_t cores, const TopologyRequest& request) {
  PodSet pod_set;
  pod_set.name = "main";
  pod_set.count = count;
  pod_set.requests = {{"cpu", cores * 1000}};
  pod_set.topology = std::make_shared<const TopologyRequest>(request);
  return pod_set;
}

inline TopologyRequest Required(const std::string& level) {
  TopologyRequest request;
  request.required = level;
  return request;
}
inline TopologyRequest Preferred(const std::string& level) {
  TopologyRequest request;
  request.preferred = level;
  return request;
}
inline TopologyRequest Unconstrained() {
  TopologyRequest request;
  request.unconstrained = true;
  return request;
}
inline TopologyRequest Sliced(TopologyRequest request, const std::string& level,
                              std::int32_t size) {
  request.slice_layers.push_back({level, size});
  return request;
}

/// "h1=2 h2=1".
inline std::string Text(const TopologyAssignment& assignment) {
  std::string text;
  for (const auto& domain : assignment.domains) {
    text += (text.empty() ? "" : " ") + domain.values.back() + "=" + std::to_string(domain.count);
  }
  return text;
}

inline TopologyAssignmentPtr OnHosts(
    const std::vector<std::pair<std::string, std::int32_t>>& hosts) {
  auto assignment = std::make_shared<TopologyAssignment>();
  assignment->levels = {kHost};
  for (const auto& [host, count] : hosts) assignment->domains.push_back({{host}, count});
  return assignment;
}

inline std::vector<TopologyAsk> AsksFor(const PodSets& pod_sets,
                                        const std::string& flavor = "tas") {
  std::vector<TopologyAsk> asks;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    TopologyAsk& ask = asks.emplace_back();
    ask.pod_set = i;
    ask.spec = &pod_sets[i];
    ask.count = pod_sets[i].count;
    ask.flavor = flavor;
    ask.implied = pod_sets[i].topology == nullptr;
  }
  return asks;
}

/// Assignments in the order of the asks joined with " | ", or "no: " and the sentence.
inline std::string Text(const TopologyPlacement& placement) {
  if (placement.failed) return "no: " + placement.failure;
  std::string text;
  for (const auto& [index, assignment] : placement.placed) {
    text += (text.empty() ? "" : " | ") + Text(*assignment);
  }
  return text;
}

/// The capacity that an admission of one flavor takes on machines.
inline Admission AdmissionOf(const PodSets& pod_sets, const TopologyPlacement& placement,
                             const std::string& flavor = "tas") {
  Admission admission;
  for (const auto& [index, assignment] : placement.placed) {
    PodSetAssignment& held = admission.pod_sets.emplace_back();
    held.name = pod_sets[index].name;
    held.count = pod_sets[index].count;
    held.flavors["cpu"] = flavor;
    held.topology = assignment;
  }
  return admission;
}

}  // namespace muster::core::testing
