// How far one member's configuration objects are, from the member's work row (rules P19, P21, P26),
// and what is wrong with them in KubeFleet's fields. Pure functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/service/placement_parts.h"
#include "schedd/model/apply_strategy.h"
#include "schedd/text/json.h"

namespace muster::api {

/// The name that KubeFleet's Work would have: "sample-kueue-work", or
/// "compute-jobs.queue-placement-work" for a ResourcePlacement.
std::string WorkNameOf(const Work& work);

/// `latest`: the placement's newest snapshot; null if there is none.
std::shared_ptr<const WorkProgress> ProgressOf(const Work& work, const ResourceSnapshot* latest,
                                               ApplyType type);

/// KubeFleet's ResourceIdentifier. `envelope`: "Kind/name" or "".
json::object ResourceIdentifier(const ResourceRef& ref, const std::string& envelope);

/// Objects that could not be applied, or that are not available yet; at most 100, like the two
/// lists below.
json::array FailedPlacements(const Work& work, ApplyType type);
/// Objects that somebody other than Muster has changed since they were applied.
json::array DriftedPlacements(const Work& work);
/// Objects that differ from the placement's and were not applied: objects that were there before,
/// or objects under the strategy ReportDiff.
json::array DiffedPlacements(const Work& work);

}  // namespace muster::api
