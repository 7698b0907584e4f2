// A topology assignment as node selectors or node affinity, which a Kubernetes scheduler obeys.
// Internal to schedd/shapes; pure.
#pragma once

#include "schedd/model/topology.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// Restricts the pods of one pod set to the assigned domains. One domain becomes a node selector.
/// Several become required node affinity, added to each of the user's own terms. How many pods go
/// to which domain is then up to the member's scheduler, because all pods have the same template.
void AddTopology(const TopologyAssignment& assignment, json::object* pod_spec);

}  // namespace muster::shapes
