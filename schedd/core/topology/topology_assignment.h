// Sums and changes of topology assignments (rules A45, A48). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/topology/topology_forest.h"
#include "schedd/model/topology.h"

namespace muster::core {

/// The number of its pods.
std::int32_t CountPods(const TopologyAssignment& assignment);

/// The domains of both, in the order of `tree`; equal domains are added up. Every domain must be a
/// leaf of the tree.
TopologyAssignment MergeAssignments(const TopologyTree& tree, const TopologyAssignment& a,
                                    const TopologyAssignment& b);

/// The first `count` pods, in the assignment's order.
TopologyAssignment TruncateAssignment(const TopologyAssignment& assignment, std::int32_t count);

/// The first domain that is not (or no longer) a leaf of the tree; null if all are.
const TopologyDomain* StaleDomain(const TopologyTree& tree, const TopologyAssignment& assignment);

}  // namespace muster::core
