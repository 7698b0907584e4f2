// The API's compact form of a topology assignment (kueue.x-k8s.io v1beta2, KEP-2724): domains in
// slices, where equal values and common prefixes are written once. v1beta1's plain list of domains
// is read as well.
//
// Pure functions, thread-safe.
#pragma once

#include "schedd/model/topology.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// Reads status.admission.podSetAssignments[].topologyAssignment. Null for an absent field, and for
/// a wrong one, whose problems are recorded.
TopologyAssignmentPtr ReadTopologyAssignment(const Field& field);

/// Writes the assignment as one slice of v1beta2.
json::object RenderTopologyAssignment(const TopologyAssignment& assignment);

}  // namespace muster::shapes
