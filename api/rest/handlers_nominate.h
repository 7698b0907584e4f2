// The handler of `:nominate`: it names the members whose own queues are asked to admit a job.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

void NominateClusters(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
