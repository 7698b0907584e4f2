// Handlers of /v1/quotas, reading quotas and editing one, and of the order of a ClusterQueue.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response ListQuotas(ApiContext& api, const Caller& who, Request& request);
/// Changes one quota, or with dryRun says what the change would admit and preempt.
void EditQuota(ApiContext& api, const Caller& who, Request& request, Responder respond);
/// The jobs that wait in a ClusterQueue with their positions, piece by piece.
Response QueueOrder(ApiContext& api, const Caller& who, Request& request);

}  // namespace muster::rest
