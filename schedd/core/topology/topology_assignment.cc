// Assignments are lists of domains with pod counts, in the order of the tree. Failed nodes and
// elastic jobs change them: domains are merged (MergeAssignments) or cut off from the end
// (TruncateAssignment).
#include "schedd/core/topology/topology_assignment.h"

#include <algorithm>
#include <map>
#include <utility>

namespace muster::core {

std::int32_t CountPods(const TopologyAssignment& assignment) {
  std::int32_t pods = 0;
  for (const auto& domain : assignment.domains) pods += domain.count;
  return pods;
}

// Leaves are numbered in the order of their values, so a map by leaf sorts the result.
TopologyAssignment MergeAssignments(const TopologyTree& tree, const TopologyAssignment& a,
                                    const TopologyAssignment& b) {
  std::map<LeafIndex, TopologyDomain> by_leaf;
  for (const auto* assignment : {&a, &b}) {
    for (const auto& domain : assignment->domains) {
      const auto [at, added] = by_leaf.emplace(tree.FindLeaf(domain.values), domain);
      if (!added) at->second.count += domain.count;
    }
  }
  TopologyAssignment merged;
  merged.levels = a.levels;
  for (auto& [leaf, domain] : by_leaf) merged.domains.push_back(std::move(domain));
  return merged;
}

TopologyAssignment TruncateAssignment(const TopologyAssignment& assignment, std::int32_t count) {
  TopologyAssignment truncated;
  truncated.levels = assignment.levels;
  for (const auto& domain : assignment.domains) {
    if (count <= 0) break;
    truncated.domains.push_back({domain.values, std::min(domain.count, count)});
    count -= domain.count;
  }
  return truncated;
}

const TopologyDomain* StaleDomain(const TopologyTree& tree, const TopologyAssignment& assignment) {
  for (const auto& domain : assignment.domains) {
    if (tree.FindLeaf(domain.values) < 0) return &domain;
  }
  return nullptr;
}

}  // namespace muster::core
