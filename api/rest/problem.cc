// Writes errors in the form of the path and adds the headers that the status calls for. The bodies
// are made by api/service/views.cc; errors that the HTTP layer itself finds, before a handler runs,
// are written by http/plain_problem.cc.
#include "api/rest/problem.h"

#include <string>

#include "api/service/job_view.h"
#include "api/service/views.h"
#include "schedd/text/json.h"

namespace muster::rest {

Response ErrorResponse(bool kubernetes, const Error& error) {
  Response response;
  response.status = HttpStatus(error.code);
  response.error = error;
  response.content_type = kubernetes ? "application/json" : "application/problem+json";
  response.body = WriteJson(kubernetes ? api::StatusJson(error) : api::ProblemJson(error));
  // The hint of the error in whole seconds, rounded up; without one a client may retry after a
  // second.
  if (response.status == 429 || response.status == 503) {
    const std::int64_t seconds = error.retry_after_ms > 0 ? (error.retry_after_ms + 999) / 1000 : 1;
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  // RFC 9110 wants a challenge with every 401.
  if (response.status == 401)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"muster\"");
  return response;
}

Response ErrorResponse(const Request& request, const Error& error) {
  return ErrorResponse(request.IsKubernetesPath(), error);
}

Response JsonResponse(const json::value& value, int status) {
  Response response;
  response.status = status;
  response.body = WriteJson(value);
  return response;
}

Response JobResponse(const JobRecord& job, int status) {
  Response response;
  response.status = status;
  api::AppendJobView(job, &response.body);
  return response;
}

}  // namespace muster::rest
