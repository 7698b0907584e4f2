// Status of a ClusterResourcePlacement or ResourcePlacement as KubeFleet would show it
// (rule P19), derived from one world view: from the jobs that it governs and from the rows
// of members that have its configuration objects. Nothing of it is stored.
//
// A job's own end is the job's to tell: what has run stays Available. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Jobs by the placement that governs them, in id order.
using GovernedJobs = std::map<PlacementTable::Key, std::vector<JobPtr>>;

/// One pass over the view's jobs: those of placements of this kind, in namespace `ns` ("": every
/// one), of the one called `name` ("": all of them).
GovernedJobs FindGoverned(const WorldView& view, ObjectKind kind, const std::string& ns,
                          const std::string& name);

/// `jobs`: of this placement.
json::object PlacementStatus(const WorldView& view, const StoredObject& object,
                             const std::vector<JobPtr>& jobs);

}  // namespace muster::api
