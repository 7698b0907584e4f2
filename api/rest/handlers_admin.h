// Handlers for administrators: member clusters.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"

namespace muster::rest {

Response ClusterFacts(ApiContext& api, const Caller& who, Request& request);
/// Changes of a member cluster.
void CordonCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);
void UncordonCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);
void FenceCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);
void CollectCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);
void DrainCluster(ApiContext& api, const Caller& who, Request& request, Responder respond);

}  // namespace muster::rest
