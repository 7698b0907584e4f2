// The parts of a placement's manifest, one file each (placement.md 1.3, 1.5). Internal to
// schedd/shapes.
//
// Pure. A part that Muster cannot honour for jobs is refused with its path, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/placement.h"
#include "schedd/shapes/field.h"

namespace muster::shapes {

/// spec.resourceSelectors; `of_cluster`: of a ClusterResourcePlacement (placement_selectors.cc).
std::vector<ResourceSelector> ReadResourceSelectors(const Field& selectors, bool of_cluster);

/// spec.policy, PickAll if absent (placement_policy.cc).
PlacementPolicy ReadPlacementPolicy(const Field& policy);
/// policy.affinity of a policy whose type is read already (placement_affinity.cc).
void ReadClusterAffinity(const Field& affinity, PlacementPolicy* policy);

/// spec.strategy: only checked, since a job is made once and never applied again
/// (placement_strategy.cc).
void CheckStrategy(const Field& strategy);

/// Annotations muster.io/tie-break, score-over and cluster-groups of a placement, whose policy is
/// read already; any other of muster.io/ is refused (placement_extensions.cc).
void ReadPlacementExtensions(const Field& annotations, PlacementPolicy* policy);

/// The name of a property: a label's key, or one with more parts, such as
/// "muster.io/cost.nvidia.com/gpu" and "kubernetes.azure.com/vm-sizes/Standard_D2/count".
bool IsPropertyName(std::string_view name);
inline constexpr char kPropertyNameRule[] =
    "must be the name of a property: parts of at most 63 letters, digits, '-', '_' or '.', joined "
    "by '/'";

}  // namespace muster::shapes
