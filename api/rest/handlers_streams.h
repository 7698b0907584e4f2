// Handlers whose answers may stay open: logs and events.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response JobLogs(ApiContext& api, const Caller& who, Request& request);
Response FollowEvents(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
