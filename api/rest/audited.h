// Failures and refusals of requests that would have changed something, and of callers that are not
// known, on their way into the audit trail. What succeeds is noted by the engine.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// True for requests that change something if they succeed: all but GET, dry runs, simulations and
/// Kubernetes' reviews (of tokens and of access).
bool ChangesSomething(const Request& request);

/// Notes a caller that was not admitted: one that is not known (kUnauthenticated) or may not act as
/// somebody else (kPermissionDenied), whatever it asked for. `peer` may be null.
void NoteNotAdmitted(ApiContext& api, const net::Peer* peer, const Request& request,
                     const Error& error);

/// Notes the end of a request if it failed and would have changed something; gives `response` back.
Response Audited(ApiContext& api, const Caller& who, const Request& request, Response response);
/// The same for an answer that comes later; without a difference for other requests.
Responder Audited(ApiContext& api, const Caller& who, const Request& request, Responder respond);

}  // namespace muster::rest
