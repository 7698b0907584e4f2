// The handler of POST /v1/jobs/{id}:nominate: a controller names the members whose own queues are
// asked to admit a job.
#include "api/rest/handlers_nominate.h"

#include <utility>

#include "api/rest/body.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "api/service/job_view.h"

namespace muster::rest {
namespace {

// Reads the body {"clusters": ["member-1", ...]}; other members are refused.
Result<std::vector<std::string>> ReadClusters(const Request& request) {
  if (const Status query = QueryReader(request).Only({}); !query.ok()) return query.error();
  const Result<json::value> body = ReadDocument(request);
  if (!body.ok()) return body.error();
  if (!body->is_object()) return InvalidField("", "must be an object with the member clusters");
  for (const auto& entry : body->get_object()) {
    if (entry.key() != "clusters") return InvalidField(std::string(entry.key()), "is not known");
  }
  const json::value* list = body->get_object().if_contains("clusters");
  if (list == nullptr) return InvalidField("clusters", "is required");
  if (!list->is_array()) return InvalidField("clusters", "must be a list of member clusters");
  std::vector<std::string> clusters;
  for (const json::value& item : list->get_array()) {
    if (!item.is_string()) {
      return InvalidField("clusters[" + std::to_string(clusters.size()) + "]", "must be a string");
    }
    clusters.emplace_back(std::string_view(item.get_string()));
  }
  return clusters;
}

}  // namespace

void NominateClusters(ApiContext& api, const Caller& who, Request& request, Responder respond) {
  Result<std::vector<std::string>> clusters = ReadClusters(request);
  if (!clusters.ok())
    return respond([error = clusters.error()] { return ErrorResponse(false, error); });
  api.service.NominateClusters(who, request.params[0], std::move(*clusters),
                               [respond](Result<JobPtr> job) {
    respond([job = std::move(job)] {
      if (!job.ok()) return ErrorResponse(false, job.error());
      Response response;
      api::AppendJobView(**job, &response.body);
      return response;
    });
  });
}

}  // namespace muster::rest
