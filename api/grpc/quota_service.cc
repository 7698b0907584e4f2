// One method per RPC of QuotaAdminService. A quota is one (ClusterQueue, flavor, resource);
// GetQuota picks it from the list of its ClusterQueue. A dry run of SetQuota also answers with the
// jobs that the edit would admit and preempt.
#include "api/grpc/quota_service.h"

#include <utility>

#include "api/grpc/call.h"
#include "api/grpc/convert.h"

namespace muster::api {

grpc::ServerUnaryReactor* QuotaAdminServiceImpl::GetQuota(grpc::CallbackServerContext* context,
                                                          const v1::GetQuotaRequest* request,
                                                          v1::Quota* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  if (request->cluster_queue().empty()) {
    return Refuse(context, InvalidField("cluster_queue", "is required"));
  }
  const Result<std::vector<QuotaView>> quotas = service_.ListQuotas(*who, request->cluster_queue());
  if (!quotas.ok()) return Refuse(context, quotas.error());
  for (const QuotaView& quota : *quotas) {
    if (quota.key.flavor != request->flavor() || quota.key.resource != request->resource())
      continue;
    ToProto(quota, response);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  return Refuse(context, NotFound("ClusterQueue \"" + request->cluster_queue() +
                                  "\" has no quota for resource \"" + request->resource() +
                                  "\" of flavor \"" + request->flavor() + "\""));
}

grpc::ServerUnaryReactor* QuotaAdminServiceImpl::ListQuotas(grpc::CallbackServerContext* context,
                                                            const v1::ListQuotasRequest* request,
                                                            v1::ListQuotasResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Answer(context, reactor, service_.ListQuotas(*who, request->cluster_queue()),
         [response](const std::vector<QuotaView>& quotas) {
    for (const QuotaView& quota : quotas) ToProto(quota, response->add_items());
  });
  return reactor;
}

grpc::ServerUnaryReactor* QuotaAdminServiceImpl::SetQuota(grpc::CallbackServerContext* context,
                                                          const v1::SetQuotaRequest* request,
                                                          v1::SetQuotaResponse* response) {
  const Result<auth::Principal> who = CallerOf(*context, callers_);
  if (!who.ok()) return Refuse(context, who.error());
  Result<QuotaEdit> edit = QuotaEditOf(*request);
  if (!edit.ok() && request->dry_run()) return Refuse(context, edit.error());
  if (!edit.ok())
    return Refuse(context, service_, *who, "update",
                  "clusterqueue/" + request->quota().cluster_queue(), edit.error());
  const bool dry_run = edit->dry_run;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  service_.SetQuota(
      *who, std::move(*edit),
      Audited(
          service_, *who, "update", "clusterqueue/" + request->quota().cluster_queue(),
          [context, reactor, response](Result<QuotaEditResult> edited) {
    Answer(context, reactor, edited, [response](const QuotaEditResult& outcome) {
      ToProto(outcome.quota, response->mutable_quota());
      for (const JobPtr& job : outcome.effect.would_admit)
        ToProto(*job, response->add_admissions());
      for (const JobPtr& job : outcome.effect.would_preempt)
        ToProto(*job, response->add_preemptions());
    });
          },
          dry_run));
  return reactor;
}

}  // namespace muster::api
