// The route table of the daemon: method, path, verb and kind for authorisation, body limit, where
// the handler runs, handler. tests/unit/rest compares it with api/openapi/muster.v1.yaml.
#pragma once

#include <vector>

#include "api/rest/api_context.h"
#include "api/rest/http/route_table.h"

namespace muster::rest {

/// `api` must outlive the table.
std::vector<Route> MusterRoutes(ApiContext& api);

}  // namespace muster::rest
