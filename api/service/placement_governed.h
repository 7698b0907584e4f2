// The jobs that placements govern. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::api {

/// Jobs by the placement that governs them, in id order.
using GovernedJobs = std::map<PlacementTable::Key, std::vector<JobPtr>>;

/// One pass over the view's jobs. The result has the jobs of placements of this kind, in namespace
/// `ns` ("": all namespaces), and with `name` of that placement alone.
GovernedJobs FindGoverned(const WorldView& view, ObjectKind kind, const std::string& ns,
                          const std::string& name);

}  // namespace muster::api
