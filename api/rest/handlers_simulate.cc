// Handler of POST /v1/simulate.
#include "api/rest/body.h"
#include "api/rest/handlers.h"
#include "api/rest/problem.h"

namespace muster::rest {

Response Simulate(ApiContext& api, const Who&, Request& request) {
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return ErrorResponse(request, body.error());
  const Result<json::value> answer = api.simulations.Run(*api.service.View(), *body);
  return answer.ok() ? JsonResponse(*answer) : ErrorResponse(request, answer.error());
}

}  // namespace muster::rest
