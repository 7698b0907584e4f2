// The status of a ClusterResourcePlacement or ResourcePlacement as KubeFleet would show it (rule
// P19), derived from one world view: from the jobs that the placement governs and from the rows of
// members that have its configuration objects. Nothing of it is stored, so it cannot be stale. Pure
// functions.
#pragma once

#include <vector>

#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// `jobs`: the jobs that this placement governs (placement_governed.h).
json::object PlacementStatus(const WorldView& view, const StoredObject& object,
                             const std::vector<JobPtr>& jobs);

}  // namespace muster::api
