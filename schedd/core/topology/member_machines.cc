#include "schedd/core/topology/member_machines.h"

#include <algorithm>

#include "schedd/model/topology.h"

namespace muster::core {
namespace {

constexpr std::int64_t kManyPods = 1'000'000;  // what a member may run is limited by its resources
bool HasTopologies(const ConfigView& config) {
  return std::any_of(config.flavors.begin(), config.flavors.end(),
                     [](const auto& flavor) { return !flavor.second.topology.empty(); });
}

void DeclareMachine(MemberCluster* member) {
  if (!member->nodes.empty()) return;
  Node node;
  node.name = member->name;
  node.labels = member->labels;
  node.labels[kHostnameLabel] = member->name;
  node.taints = member->taints;
  node.allocatable = member->allocatable;
  if (AmountOf(node.allocatable, "pods") == 0) SetAmount(&node.allocatable, "pods", kManyPods);
  node.ready = member->healthy;
  member->nodes.push_back(std::move(node));
}

}  // namespace

TopologyForestPtr ForestOf(const ConfigView& config, std::vector<MemberCluster> members,
                           const AdmissionSettings& settings) {
  if (!settings.tas || !HasTopologies(config)) return nullptr;
  for (MemberCluster& member : members) DeclareMachine(&member);
  std::vector<const MemberCluster*> pointers;
  for (const MemberCluster& member : members) pointers.push_back(&member);
  return TopologyForest::Build(config, pointers, settings);
}

}  // namespace muster::core
