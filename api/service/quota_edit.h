// A quota edit as a change of its ClusterQueue's manifest. Pure functions.
#pragma once

#include "api/service/object_status.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

/// The manifest of a ClusterQueue with one quota edited. Errors: no such flavor or resource in it
/// (kNotFound); an edit that sets nothing; a limit both set and cleared; a negative amount.
Result<json::value> EditedManifest(const std::string& manifest, const QuotaEdit& edit);

/// A quota of the configuration with what is used of it; `unadmitted` as CountUnadmitted gives it.
Result<QuotaView> QuotaOf(const WorldView& view, const QuotaKey& key,
                          const std::map<std::string, Amounts>& unadmitted);

}  // namespace muster::api
