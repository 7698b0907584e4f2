// The parts of a placement's manifest, one file each (rule P2), and which kinds
// placements, overrides and envelopes may be about. Internal to schedd/shapes.
//
// Pure. A part that Muster cannot honour is refused with its path, never ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/placement.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// spec.resourceSelectors; `of_cluster`: of a ClusterResourcePlacement (placement_selectors.cc).
std::vector<ResourceSelector> ReadResourceSelectors(const Field& selectors, bool of_cluster);

/// spec.policy, PickAll if absent (placement_policy.cc).
PlacementPolicy ReadPlacementPolicy(const Field& policy);
/// policy.affinity of a policy whose type is read already (placement_affinity.cc).
void ReadClusterAffinity(const Field& affinity, PlacementPolicy* policy);

/// spec.strategy of a placement whose selectors are read already (placement_strategy.cc). In a
/// placement that selects only jobs, values that would ask Muster to apply an object again are
/// refused: a job is created once and never applied again.
void ReadStrategy(const Field& strategy, Placement* placement);

/// Annotations muster.io/tie-break, score-over and cluster-groups of a placement, whose policy is
/// read already; any other annotation of muster.io/ is refused (placement_extensions.cc).
void ReadPlacementExtensions(const Field& annotations, PlacementPolicy* policy);

/// True of kinds whose objects belong to the cluster that made them and are never sent to members:
/// Pods, Nodes, events, leases, metrics, and KubeFleet's own kinds except envelopes
/// (placed_kinds.cc).
bool IsNeverPlaced(std::string_view group, std::string_view kind);
/// True of the kinds of jobs: a job is dispatched to one member, not sent as configuration.
bool IsPlacedJob(std::string_view group, std::string_view kind);
bool IsEnvelope(std::string_view group, std::string_view kind);
/// True of kinds that are known to be cluster-scoped.
bool IsClusterScoped(std::string_view group, std::string_view kind);
/// "apps/v1" or "v1".
std::string ApiVersion(std::string_view group, std::string_view version);

/// The name of a property: a label's key, or one with more parts, such as
/// "muster.io/cost.nvidia.com/gpu" and "kubernetes.azure.com/vm-sizes/Standard_D2/count".
bool IsPropertyName(std::string_view name);
inline constexpr char kPropertyNameRule[] =
    "must be the name of a property: parts of at most 63 letters, digits, '-', '_' or '.', joined "
    "by '/'";

}  // namespace muster::shapes
