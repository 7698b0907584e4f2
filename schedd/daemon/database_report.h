// What the daemon tells about its database: /readyz, /v1/status and metrics.
#pragma once

#include "api/rest/rest_server.h"
#include "schedd/store/health.h"
#include "schedd/telemetry/metrics.h"

namespace muster {

/// Fills in RestOptions::write_problem and RestOptions::database, and registers the metrics
/// muster_database_*. `health` must outlive the server, and every use of `metrics`.
void ReportDatabase(const StoreHealth& health, Metrics& metrics, api::RestOptions* options);

}  // namespace muster
