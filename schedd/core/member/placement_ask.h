// PlacementAsk: what decides between members for one job, resolved from the configuration: the
// placement that governs it, its pin, its data sets, the members that it avoids (rules P1, P16).
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/member/cluster_view.h"
#include "schedd/model/node_choice.h"
#include "schedd/model/placement.h"

namespace muster::core {

struct PlacementAsk {
  PlacementPtr placement;               // the placement that governs the job; null: none
  JobPlacementPtr own;                  // pin and data sets of the job; null: none
  std::shared_ptr<const NodeChoice> nodes;  // nodes that a batch script names; null: any
  std::vector<AvoidedCluster> avoided;  // members that the job still avoids
  std::int64_t waited_s = 0;            // time since it was last queued, for cluster groups
  /// The sentence if the job must wait: an annotation names a placement that does not exist, or the
  /// placement that governs the job picks no cluster.
  std::string obstacle;

  bool empty() const {
    return placement == nullptr && own == nullptr && nodes == nullptr && avoided.empty() &&
           obstacle.empty();
  }
};

/// The placement that governs a job; null if none does (rule P1). The first that applies, the
/// smaller name first: a ResourcePlacement of its namespace that names it; one that selects its
/// labels or kind; a ClusterResourcePlacement that takes its namespace with content; the placement
/// that annotation muster.io/placement names on the job, its LocalQueue, its ClusterQueue or its
/// Namespace (a ResourcePlacement of the job's namespace comes before a ClusterResourcePlacement).
/// `obstacle` (may be null) gets the sentence about a name that does not exist.
PlacementPtr GoverningPlacement(const ConfigView& config, const JobRecord& job,
                                std::string* obstacle);

/// `now` in whole seconds is precise enough.
PlacementAsk AskOf(const ConfigView& config, const AdmissionSettings& settings,
                   const JobRecord& job, WallTime now);

/// True if the selector takes this namespace. No selector takes a reserved one
/// (IsReservedNamespace).
bool SelectsNamespace(const ResourceSelector& selector, const Namespace& ns);
/// True if the selector takes a job of its namespace: by kind and name, or by kind and labels.
bool Selects(const ResourceSelector& selector, const JobRecord& job);

/// The time of waiting, in seconds, at which the next cluster group opens for the job; -1 if none
/// does.
std::int64_t NextGroupAfter(const PlacementPolicy& policy, std::int64_t waited_s);

/// API group and kind of the object that a shape is: "batch", "Job". A batch script is "muster.io",
/// "BatchScript".
struct GroupKind {
  std::string_view group, kind;
};
GroupKind GroupKindOf(ShapeKind shape);

}  // namespace muster::core
