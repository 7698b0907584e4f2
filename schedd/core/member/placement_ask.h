// PlacementAsk: what governs the placement of one job, resolved from the configuration: which
// placement it goes by, where it is pinned, which data it wants, which members it avoids. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/member/cluster_view.h"
#include "schedd/model/placement.h"

namespace muster::core {

struct PlacementAsk {
  PlacementPtr placement;               // null: none governs it
  JobPlacementPtr own;                  // null: the job says nothing itself
  std::vector<AvoidedCluster> avoided;  // of the job, not over yet
  std::int64_t waited_s = 0;            // since it was last queued: what cluster groups count
  /// Its annotation, or that of its queue or namespace, names a placement that does not exist, or
  /// the one that governs it picks no cluster: the sentence; it waits.
  std::string obstacle;

  bool empty() const {
    return placement == nullptr && own == nullptr && avoided.empty() && obstacle.empty();
  }
};

/// The placement that governs a job; null if none does. In this order, the smaller name first: a
/// ResourcePlacement of its namespace that names it; one that selects its labels or kind; a
/// ClusterResourcePlacement that takes its namespace with content; the placement that an annotation
/// muster.io/placement names, on the job, its LocalQueue, its ClusterQueue, its Namespace: a
/// ResourcePlacement of the job's namespace, else a ClusterResourcePlacement. `obstacle` (may be
/// null) gets the sentence about a name that leads nowhere.
PlacementPtr GoverningPlacement(const ConfigView& config, const JobRecord& job,
                                std::string* obstacle);

/// `now` in seconds is enough.
PlacementAsk AskOf(const ConfigView& config, const AdmissionSettings& settings,
                   const JobRecord& job, WallTime now);

/// True if the selector takes this namespace. Reserved ones (IsReservedNamespace) are taken by
/// none.
bool SelectsNamespace(const ResourceSelector& selector, const Namespace& ns);
/// True if the selector takes a job of this namespace: by kind and name, or by its labels.
bool Selects(const ResourceSelector& selector, const JobRecord& job);

/// When the next cluster group of a waiting job opens, in seconds of waiting; -1: no later one.
std::int64_t NextGroupAfter(const PlacementPolicy& policy, std::int64_t waited_s);

/// Group and kind of the object that a shape is: "batch", "Job". A batch script is named as
/// "muster.io", "BatchScript".
struct GroupKind {
  std::string_view group, kind;
};
GroupKind GroupKindOf(ShapeKind shape);

}  // namespace muster::core
