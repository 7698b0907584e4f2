// Handlers of /v1/quotas: reading quotas and editing one.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response ListQuotas(ApiContext& api, const Caller& who, Request& request);
/// Changes one quota, or with dryRun says what the change would admit and preempt.
void EditQuota(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
