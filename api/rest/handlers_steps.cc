// GET /v1/jobs/{id}/steps and GET /v1/steps?job=1&job=2: {"items":[...],"next_page_token":...}, one
// step per line.
#include "api/rest/handlers_steps.h"

#include <utility>

#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/steps.h"
#include "api/service/views.h"
#include "schedd/base/limits_slurm_steps_store.h"

namespace muster::rest {
namespace {

Response StepsResponse(const Request& request, const Result<api::StepPage>& page) {
  if (!page.ok()) return ErrorResponse(request, page.error());
  Response response;
  response.body = "{\"items\":[";
  for (std::size_t i = 0; i < page->items.size(); ++i) {
    response.body += i == 0 ? "\n" : ",\n";
    response.body += WriteJson(api::StepJson(page->items[i]));
  }
  response.body += "\n],\"next_page_token\":";
  response.body += WriteJson(json::value(page->next_page_token));
  response.body += '}';
  return response;
}

Result<std::int64_t> PageSize(const QueryReader& query) {
  constexpr auto kMost = static_cast<std::int64_t>(limits::kStepItems);
  return query.Number("limit", kMost, 1, kMost);
}

}  // namespace

Response JobSteps(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"limit", "page_token"}); !known.ok())
    return ErrorResponse(request, known.error());
  const Result<std::int64_t> limit = PageSize(query);
  if (!limit.ok()) return ErrorResponse(request, limit.error());
  return StepsResponse(request,
                       api::JobSteps(api.service, who, request.params[0], query.Text("page_token"),
                                     static_cast<std::size_t>(*limit)));
}

Response ListSteps(ApiContext& api, const Caller& who, Request& request) {
  const QueryReader query(request);
  if (const Status known = query.Only({"job", "limit", "page_token"}, "job"); !known.ok())
    return ErrorResponse(request, known.error());
  const Result<std::vector<JobId>> jobs = query.Ids("job", limits::kStepJobs);
  if (!jobs.ok()) return ErrorResponse(request, jobs.error());
  if (jobs->empty())
    return ErrorResponse(request, InvalidField("job", "is required: the numbers of jobs"));
  const Result<std::int64_t> limit = PageSize(query);
  if (!limit.ok()) return ErrorResponse(request, limit.error());
  return StepsResponse(request, api::StepsOf(api.service, who, *jobs, query.Text("page_token"),
                                             static_cast<std::size_t>(*limit)));
}

}  // namespace muster::rest
