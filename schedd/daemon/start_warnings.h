// What an administrator should know of a configuration.
#pragma once

#include <vector>

#include "api/rest/rest_server.h"
#include "schedd/daemon/config.h"

namespace muster {

/// Logged by this function, and shown by /v1/status.
std::vector<api::ServerWarning> WarningsOf(const DaemonConfig& config);

}  // namespace muster
