// Handlers about the daemon itself: health, metrics, the API document, version and status.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response Live(ApiContext& api, const Caller& who, Request& request);
Response Ready(ApiContext& api, const Caller& who, Request& request);
Response MetricsText(ApiContext& api, const Caller& who, Request& request);
Response OpenApiText(ApiContext& api, const Caller& who, Request& request);
Response Version(ApiContext& api, const Caller& who, Request& request);
/// GET /v1/status: whether this daemon leads and serves, and its warnings.
Response ServerStatus(ApiContext& api, const Caller& who, Request& request);
Response Paths(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
