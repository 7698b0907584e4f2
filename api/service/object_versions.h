// One object, two served API versions: Kueue's v1beta1 and v1beta2 differ in few fields of what
// Muster accepts.
//
// Pure functions.
#pragma once

#include <string_view>

#include "schedd/model/queues.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Rewrites `object` (manifest and status) from the version its apiVersion names to `version`
/// ("v1beta2"): ClusterQueue spec.cohort / cohortName, its list of admission checks, the spelling
/// of flavorFungibility's values, LocalQueue status.flavorUsage / flavorsUsage. Versions that are
/// equal or not known leave it as it is.
void ConvertVersion(ObjectKind kind, std::string_view version, json::object* object);

}  // namespace muster::api
