// Handler of POST /v1/simulate.
#include "api/rest/handlers_simulate.h"

#include "api/rest/body.h"
#include "api/rest/problem.h"

namespace muster::rest {

Response Simulate(ApiContext& api, const Caller&, Request& request) {
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return ErrorResponse(request, body.error());
  // Runs on this thread of the pool for up to some seconds.
  const Result<json::value> answer = api.simulations.Run(*api.service.View(), *body);
  return answer.ok() ? JsonResponse(*answer) : ErrorResponse(request, answer.error());
}

}  // namespace muster::rest
