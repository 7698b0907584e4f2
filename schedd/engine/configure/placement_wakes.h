// Placement wakes: which waiting jobs an edit of the configuration may have given another
// placement. Pure functions; the caller compares each named job under both configurations.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster {

/// The jobs that another placement may govern now: by name, by the placement that their annotation
/// names, or all of a namespace.
struct PlacementReach {
  /// (namespace, name) of jobs.
  std::set<std::pair<std::string, std::string>> names;
  /// Names of placements in annotations of jobs.
  std::set<std::string> references;
  std::set<std::string> namespaces;
  bool Covers(const JobRecord& job) const;
  bool empty() const { return names.empty() && references.empty() && namespaces.empty(); }
};

/// The reach of the changed objects:
/// - a ResourcePlacement: the jobs that it names or named; all of its namespace if it selects in
///   another way, or if a queue or the namespace names it.
/// - a ClusterResourcePlacement: the namespaces that it takes or took, and those where a queue or
///   the namespace names it.
/// - a LocalQueue, ClusterQueue or Namespace that names another placement than before, or leads
///   elsewhere: its namespaces. A Namespace with other labels too, if there are
///   ClusterResourcePlacements.
PlacementReach ReachOf(const ConfigView& before, const ConfigView& after,
                       const std::vector<ObjectKey>& changed);

}  // namespace muster
