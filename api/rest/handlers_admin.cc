// Handlers for administrators: quotas and member clusters. Each reads its query
// parameters strictly, makes one call of SchedulerService and writes the result as JSON. Amounts
// are Kubernetes quantities.
#include "api/rest/handlers_admin.h"

#include <utility>

#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"

namespace muster::rest {
namespace {

// Null: no limit.
json::value LimitJson(const std::string& resource, const std::optional<std::int64_t>& limit) {
  return limit ? json::value(FormatQuantity(resource, *limit)) : json::value(nullptr);
}

json::object QuotaJson(const api::QuotaView& view) {
  const std::string& resource = view.key.resource;
  return {{"clusterQueue", view.key.cluster_queue},
          {"flavor", view.key.flavor},
          {"resource", resource},
          {"nominal", FormatQuantity(resource, view.quota.nominal)},
          {"borrowingLimit", LimitJson(resource, view.quota.borrowing_limit)},
          {"lendingLimit", LimitJson(resource, view.quota.lending_limit)},
          {"used", FormatQuantity(resource, view.used)},
          {"reserved", FormatQuantity(resource, view.reserved)},
          {"borrowed", FormatQuantity(resource, view.borrowed)},
          {"available", FormatQuantity(resource, view.available)},
          {"etag", view.etag}};
}

// True after a request with parameters was refused: who adds dryRun must not get the change.
bool ParametersRefused(const Request& request, const Responder& respond) {
  const Status known = QueryReader(request).Only({});
  if (!known.ok()) respond([error = known.error()] { return ErrorResponse(false, error); });
  return !known.ok();
}

// The common part of cordon and uncordon.
void SetCordon(ApiContext& api, const Caller& who, Request& request, bool cordon,
               const Responder& respond) {
  if (ParametersRefused(request, respond)) return;
  api.service.Cordon(who, request.params[0], cordon,
                     [&service = api.service, respond](Result<ObjectPtr> object) {
    respond([&service, object = std::move(object)] {
      return object.ok() ? JsonResponse(service.ObjectWithStatus(**object))
                         : ErrorResponse(false, object.error());
    });
  });
}

// A callback that answers with one number under the key `name`.
Callback<std::size_t> Counted(const char* name, Responder respond) {
  return [name, respond = std::move(respond)](Result<std::size_t> count) {
    respond([name, count = std::move(count)] {
      return count.ok() ? JsonResponse(json::object{{name, *count}})
                        : ErrorResponse(false, count.error());
    });
  };
}

}  // namespace

Response ListQuotas(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"clusterQueue"}); !known.ok())
    return ErrorResponse(request, known.error());
  const Result<std::vector<api::QuotaView>> quotas =
      api.service.ListQuotas(who, query.Text("clusterQueue"));
  if (!quotas.ok()) return ErrorResponse(request, quotas.error());
  json::array items;
  for (const api::QuotaView& quota : *quotas) items.push_back(QuotaJson(quota));
  return JsonResponse(json::object{{"items", std::move(items)}});
}

// The facts as the service writes them, with their age.
Response ClusterFacts(ApiContext& api, const Caller& who, Request& request) {
  const Result<json::value> facts = api.service.ClusterFactsOf(who, request.params[0]);
  return facts.ok() ? JsonResponse(*facts) : ErrorResponse(request, facts.error());
}

void CordonCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  SetCordon(api, who, request, true, respond);
}
void UncordonCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  SetCordon(api, who, request, false, respond);
}

void FenceCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  if (ParametersRefused(request, respond)) return;
  api.service.Fence(who, request.params[0], Counted("attemptsGivenUp", std::move(respond)));
}
void CollectCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  if (ParametersRefused(request, respond)) return;
  api.service.Collect(who, request.params[0], Counted("objectsReleased", std::move(respond)));
}

void DrainCluster(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  const QueryReader query(request);
  const Status known = query.Only({"force"});
  const Result<bool> force = known.ok() ? query.Flag("force") : Result<bool>(known.error());
  if (!force.ok()) return respond([error = force.error()] { return ErrorResponse(false, error); });
  api.service.Drain(who, request.params[0], *force,
                    [respond = std::move(respond)](Result<DrainProgress> progress) {
    respond([progress = std::move(progress)] {
      if (!progress.ok()) return ErrorResponse(false, progress.error());
      return JsonResponse(json::object{
          {"evicting", progress->evicting},
          {"blocked", progress->blocked},
          {"waiting", progress->waiting},
          {"reasons", json::array(progress->reasons.begin(), progress->reasons.end())}});
    });
  });
}

}  // namespace muster::rest
