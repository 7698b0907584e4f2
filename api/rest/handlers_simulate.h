// The handler of POST /v1/simulate.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response Simulate(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
