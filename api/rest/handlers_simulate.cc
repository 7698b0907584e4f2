// Handler of POST /v1/simulate.
#include "api/rest/handlers_simulate.h"

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "schedd/text/lenient.h"

namespace muster::rest {

Response Simulate(ApiContext& api, const Caller& who, Request& request) {
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return ErrorResponse(request, body.error());
  // Another value than a boolean is refused when the request is read.
  const json::value* current = FindValue(*body, "current");
  const bool shows_queues = current != nullptr && current->is_bool() && current->get_bool();
  const Result<WorldViewPtr> view =
      api.service.ViewToSimulate(who, TextAt(*body, "namespace"), shows_queues);
  if (!view.ok()) return ErrorResponse(request, view.error());
  // Runs on this thread of the pool for up to some seconds.
  const Result<json::value> answer = api.simulations.Run(**view, *body);
  return answer.ok() ? JsonResponse(*answer) : ErrorResponse(request, answer.error());
}

}  // namespace muster::rest
