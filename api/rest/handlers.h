// The handlers of /v1 and of the daemon itself: one function per route, HTTP in and out over
// SchedulerService. Kubernetes paths have kube_handlers.h. What may be asked and how it looks is in
// api/openapi/muster.v1.yaml.
#pragma once

#include "api/rest/api_context.h"
#include "api/rest/http/message.h"
#include "api/rest/http/route_table.h"

namespace muster::rest {

using Who = auth::Principal;

// handlers_submit.cc
void SubmitJob(ApiContext& api, const Who& who, Request& request, Responder respond);
void SubmitBatch(ApiContext& api, const Who& who, Request& request, Responder respond);
void ApplyDocuments(ApiContext& api, const Who& who, Request& request, Responder respond);

// handlers_jobs.cc
Response ListJobs(ApiContext& api, const Who& who, Request& request);
Response GetJob(ApiContext& api, const Who& who, Request& request);
Response ExplainJob(ApiContext& api, const Who& who, Request& request);
Response JobEvents(ApiContext& api, const Who& who, Request& request);
Response JobPods(ApiContext& api, const Who& who, Request& request);
Response JobMemberEvents(ApiContext& api, const Who& who, Request& request);
Response Accounting(ApiContext& api, const Who& who, Request& request);
void CancelJob(ApiContext& api, const Who& who, Request& request, Responder respond);
void HoldJob(ApiContext& api, const Who& who, Request& request, Responder respond);
void ReleaseJob(ApiContext& api, const Who& who, Request& request, Responder respond);
void RequeueJob(ApiContext& api, const Who& who, Request& request, Responder respond);

// handlers_nominate.cc
void NominateClusters(ApiContext& api, const Who& who, Request& request, Responder respond);

// handlers_simulate.cc
Response Simulate(ApiContext& api, const Who& who, Request& request);

// handlers_streams.cc
Response JobLogs(ApiContext& api, const Who& who, Request& request);
Response FollowEvents(ApiContext& api, const Who& who, Request& request);

// handlers_admin.cc
Response ListQuotas(ApiContext& api, const Who& who, Request& request);
Response ListAudit(ApiContext& api, const Who& who, Request& request);
Response ClusterFacts(ApiContext& api, const Who& who, Request& request);
void CordonCluster(ApiContext& api, const Who& who, Request& request, Responder respond);
void UncordonCluster(ApiContext& api, const Who& who, Request& request, Responder respond);
void FenceCluster(ApiContext& api, const Who& who, Request& request, Responder respond);
void CollectCluster(ApiContext& api, const Who& who, Request& request, Responder respond);
void DrainCluster(ApiContext& api, const Who& who, Request& request, Responder respond);

// handlers_members.cc
void AddCluster(ApiContext& api, const Who& who, Request& request, Responder respond);
void RemoveCluster(ApiContext& api, const Who& who, Request& request, Responder respond);

// handlers_system.cc
Response Live(ApiContext& api, const Who& who, Request& request);
Response Ready(ApiContext& api, const Who& who, Request& request);
Response MetricsText(ApiContext& api, const Who& who, Request& request);
Response OpenApiText(ApiContext& api, const Who& who, Request& request);
Response Version(ApiContext& api, const Who& who, Request& request);
/// Whether this daemon leads and serves, and what it warns of.
Response ServerStatus(ApiContext& api, const Who& who, Request& request);
Response Paths(ApiContext& api, const Who& who, Request& request);

}  // namespace muster::rest
