// Converts an object between the two served API versions of Kueue, v1beta1 and v1beta2, which
// differ in few fields of what Muster accepts. Pure functions.
#pragma once

#include <string_view>

#include "schedd/model/queues.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Rewrites `object` (manifest and status) from the version that its apiVersion names to `version`
/// ("v1beta2"): ClusterQueue spec.cohort / cohortName, its list of admission checks, the spelling
/// of flavorFungibility's values, LocalQueue status.flavorUsage / flavorsUsage. A version that is
/// equal or not served leaves the object as it is.
void ConvertVersion(ObjectKind kind, std::string_view version, json::object* object);

}  // namespace muster::api
