// Members as machines: topology aware scheduling also serves members that declare no nodes, such as
// a local host, by treating each of them as one machine.
#include "schedd/core/topology/member_machines.h"

#include <algorithm>

#include "schedd/model/topology.h"

namespace muster::core {
namespace {

// A member without machines limits pods by its resources, not by their number.
constexpr std::int64_t kManyPods = 1'000'000;
bool HasTopologies(const ConfigView& config) {
  return std::any_of(config.flavors.begin(), config.flavors.end(),
                     [](const auto& flavor) { return !flavor.second.topology.empty(); });
}

// Makes a member without machines one machine with the member's labels, taints and allocatable
// amounts.
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
