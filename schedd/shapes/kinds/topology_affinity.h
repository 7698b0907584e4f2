// A topology assignment as what a Kubernetes scheduler obeys. Internal to schedd/shapes; pure.
#pragma once

#include "schedd/model/topology.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// Lets the pods of one pod set go to the assigned domains and to no other. One domain becomes a
/// node selector. Several become required node affinity, added to each of the user's own terms: how
/// many pods go to which of them is then the member's scheduler's choice (a template says the same
/// to each of its pods).
void AddTopology(const TopologyAssignment& assignment, json::object* pod_spec);

}  // namespace muster::shapes
