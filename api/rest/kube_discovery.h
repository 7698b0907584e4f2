// Handlers of Kubernetes discovery: /api, /apis, /apis/{group}, /api/v1 and
// /apis/{group}/{version}.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response ApiVersions(ApiContext& api, const Caller& who, Request& request);
Response ApiGroups(ApiContext& api, const Caller& who, Request& request);
Response ApiGroup(ApiContext& api, const Caller& who, Request& request);
Response ApiResources(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
