// Placement wakes: which waiting jobs an edit of the configuration may have given another placement
// than before. Pure functions; whoever is named is looked at, one by one.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster {

/// Jobs that may go by something else now. Empty: none.
struct PlacementReach {
  std::set<std::pair<std::string, std::string>> names;  // (namespace, name)
  std::set<std::string> references;                     // those whose annotation names it
  std::set<std::string> namespaces;                     // all jobs of these
  bool Covers(const JobRecord& job) const;
  bool empty() const { return names.empty() && references.empty() && namespaces.empty(); }
};

/// - a ResourcePlacement: the jobs that it names or named; all of its namespace if it selects in
///   another way, or if a queue or the namespace names it.
/// - a ClusterResourcePlacement: the namespaces that it takes or took, and those where a queue or
///   the namespace names it.
/// - a LocalQueue, ClusterQueue or Namespace that names another placement than before, or leads
///   elsewhere: its namespaces. A Namespace with other labels too, where placements of the whole
///   fleet go by labels.
PlacementReach ReachOf(const ConfigView& before, const ConfigView& after,
                       const std::vector<ObjectKey>& changed);

}  // namespace muster
