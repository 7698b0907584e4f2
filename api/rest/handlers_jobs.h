// Handlers that read and steer jobs.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// A list that is searched or ordered is a table, which is read in pieces by their place.
bool IsTable(const Request& request);
Response ListJobs(ApiContext& api, const Caller& who, Request& request);
/// How many jobs of each value of a column match.
Response CountJobs(ApiContext& api, const Caller& who, Request& request);
Response GetJob(ApiContext& api, const Caller& who, Request& request);
Response ExplainJob(ApiContext& api, const Caller& who, Request& request);
Response JobEvents(ApiContext& api, const Caller& who, Request& request);
Response JobPods(ApiContext& api, const Caller& who, Request& request);
Response JobMemberEvents(ApiContext& api, const Caller& who, Request& request);
Response Accounting(ApiContext& api, const Caller& who, Request& request);
void CancelJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void ReleaseJob(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
