// Handlers that take manifests: one job, a batch of jobs, documents of any kind.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

void SubmitJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
/// True if SubmitJob may read the store or compute for long: a dry run, and a job that depends on
/// others. A guess from the bytes that errs to the safe side; pure.
bool SubmitMayBlock(const Request& request);
void SubmitBatch(ApiContext& api, const Caller& who, Request& request, Responder respond);
void ApplyDocuments(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
