// The quota part of explain: how each flavor fares, which one is missed by least, and where in the
// cohort tree the limit binds. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"
#include "schedd/core/plan/assignment.h"

namespace muster::core {

/// What keeps a ClusterQueue from getting more of a pair now: its own quota, a borrowing limit on
/// the way up, or what its root cohort shares.
std::string LimitText(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair);
/// The same for the most that it could get if nothing were used.
std::string CeilingText(const QuotaTree& tree, NodeIndex queue, FlavorResourceIndex pair);
/// The node in which more of the pair must become free: "cohort all", "ClusterQueue team-a".
std::string BindingNode(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair);

/// The findings about every flavor of the ClusterQueue, pod set by pod set. `job` must have no
/// admission.
std::vector<FlavorFinding> FindFlavors(const Snapshot& snapshot, const ClusterQueue& queue,
                                       const JobRecord& job);

/// What the job would take if each pod set got the flavors that it misses by least.
struct NearestMiss {
  Charges requests;                            // by pair, of all pod sets
  std::vector<FlavorResourceIndex> contested;  // the pairs that are short, each once
  std::vector<const FlavorFinding*> rows;      // the findings about these flavors, in order
  bool possible = true;                        // false: no flavor could ever serve some pod set
};
NearestMiss NearestOf(const QuotaTree& tree, const ClusterQueue& queue,
                      const std::vector<FlavorFinding>& findings);

}  // namespace muster::core
