// A quota edit as a change of its ClusterQueue's manifest, and the view of one quota. Pure
// functions.
#pragma once

#include "api/service/object_status.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

/// The manifest of a ClusterQueue with one quota edited. Errors: the ClusterQueue has no such
/// flavor or resource (kNotFound); the edit sets nothing, sets and clears the same limit, or has a
/// negative amount.
Result<json::value> EditedManifest(const std::string& manifest, const QuotaEdit& edit);

/// One quota of the configuration and what is used of it. `unadmitted` comes from CountUnadmitted.
Result<QuotaView> QuotaOf(const WorldView& view, const QuotaKey& key,
                          const std::map<std::string, Amounts>& unadmitted);

}  // namespace muster::api
