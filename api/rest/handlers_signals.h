// Handlers that send something to the processes of a running job.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

void SignalJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void NotifyJob(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
