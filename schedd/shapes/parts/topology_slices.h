// The API's compact form of a topology assignment (kueue.x-k8s.io v1beta2, KEP-2724): domains in
// slices, equal values and common prefixes written once. v1beta1's plain list is read as well.
//
// Pure functions, thread-safe.
#pragma once

#include "schedd/model/topology.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// Reads status.admission.podSetAssignments[].topologyAssignment. Wrong fields are recorded, and
/// null is returned for them and for an absent field.
TopologyAssignmentPtr ReadTopologyAssignment(const Field& field);

/// The same assignment as one slice of v1beta2.
json::object RenderTopologyAssignment(const TopologyAssignment& assignment);

}  // namespace muster::shapes
