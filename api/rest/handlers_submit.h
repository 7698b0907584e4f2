// Handlers that take manifests: one job, a batch of jobs, documents of any kind.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

void SubmitJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void SubmitBatch(ApiContext& api, const Caller& who, Request& request, Responder respond);
void ApplyDocuments(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
