// How far one member's configuration objects are, from their row (rules P19, P21, P26), and
// what is wrong with them in KubeFleet's fields. Pure functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/service/placement_parts.h"
#include "schedd/model/apply_strategy.h"
#include "schedd/text/json.h"

namespace muster::api {

/// "sample-kueue-work"; "compute-jobs.queue-placement-work" of a ResourcePlacement.
std::string WorkNameOf(const Work& work);

/// `latest`: revision of the placement; null if there is none.
std::shared_ptr<const WorkProgress> ProgressOf(const Work& work, const ResourceSnapshot* latest,
                                               ApplyType type);

/// KubeFleet's ResourceIdentifier. `envelope`: "Kind/name" or "".
json::object ResourceIdentifier(const ResourceRef& ref, const std::string& envelope);

/// Objects that could not be applied, or that are not available yet. At most 100, as of the two
/// below.
json::array FailedPlacements(const Work& work, ApplyType type);
/// Objects that somebody else has changed since they were applied.
json::array DriftedPlacements(const Work& work);
/// Objects that were there before, or are only compared, and differ.
json::array DiffedPlacements(const Work& work);

}  // namespace muster::api
