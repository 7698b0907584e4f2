// Handlers that add and remove member clusters while the daemon runs.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

void AddCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);
void RemoveCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
