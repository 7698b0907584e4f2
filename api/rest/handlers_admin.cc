// Handlers for administrators: member clusters. Each reads its query
// parameters strictly, makes one call of SchedulerService and writes the result as JSON.
#include "api/rest/handlers_admin.h"

#include <utility>

#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

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
