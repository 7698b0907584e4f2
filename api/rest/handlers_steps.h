// Handlers that read the steps of batch scripts.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response JobSteps(ApiContext& api, const Caller& who, Request& request);
Response ListSteps(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
