// Handlers of the verbs that only batch scripts have, and of those that take options.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

/// Body, optional: {"byAdmin": true}.
void HoldJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
/// Body, optional: {"hold": true, "specialExit": true}.
void RequeueJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void SuspendJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void ResumeJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
void KeepJob(ApiContext& api, const Caller& who, Request& request, Responder respond);
/// Body: the fields that change.
void UpdateJob(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
