// Reads what the containers of a pod template ask for, and checks it as the Kubernetes API would.
//
// Pure.
#pragma once

#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/pod_amounts.h"

namespace muster::shapes {

/// Reads a pod spec. Refuses negative amounts, fractions of an extended resource, requests above
/// their limits and resource claims.
PodAmounts ReadPodAmounts(const Field& pod_spec);

}  // namespace muster::shapes
