// The quota part of explain: how each flavor fares, which one it misses by least, and where in the
// cohort tree the limit binds. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"
#include "schedd/core/plan/assignment.h"

namespace muster::core {

/// What keeps a ClusterQueue from more of a pair than is available to it now: its own quota, a
/// borrowing limit on the way up, or what its root cohort shares.
std::string LimitText(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair);
/// The same of what it could have if nothing at all were used.
std::string CeilingText(const QuotaTree& tree, NodeIndex queue, FlavorResourceIndex pair);
/// "cohort all", "ClusterQueue team-a": where more of the pair must become free.
std::string BindingNode(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair);

/// Every flavor of its ClusterQueue, pod set by pod set. `job` without admission.
std::vector<FlavorFinding> FindFlavors(const Snapshot& snapshot, const ClusterQueue& queue,
                                       const JobRecord& job);

/// What it would take if it got, for each pod set, the flavors that it misses by least.
struct NearestMiss {
  Charges requests;                            // by pair, of all pod sets
  std::vector<FlavorResourceIndex> contested;  // those that are short, each once
  std::vector<const FlavorFinding*> rows;      // the findings taken, in order
  bool possible = true;  // false: some pod set has no flavor that could ever serve it
};
NearestMiss NearestOf(const QuotaTree& tree, const ClusterQueue& queue,
                      const std::vector<FlavorFinding>& findings);

}  // namespace muster::core
