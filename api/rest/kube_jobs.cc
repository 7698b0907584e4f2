// Job kinds on Kubernetes paths: POST submits, GET answers the kind's own object with its status,
// DELETE ends it.
#include <memory>
#include <utility>

#include "api/rest/kube_handlers.h"
#include "api/rest/kube_selectors.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"

namespace muster::rest {
namespace {

constexpr std::size_t kPage =
    200;  // manifests are read from the store one by one while the list leaves

/// A list being rendered, page after page, while it leaves.
struct JobListing {
  const api::SchedulerService& service;
  Who who;
  const KubeResource& resource;
  KubeSelector selector;
  api::JobFilter filter;
  api::JobPage page;
  bool one_page = false;  // the client asked for pages
  bool first = true;

  /// One page; false after the last.
  Result<bool> Step(std::string* out) {
    for (const JobPtr& job : page.items) {
      const Result<json::value> object = KubeJobObject(service, who, resource, *job);
      if (!object.ok() && object.error().code == Code::kNotFound) continue;  // archived meanwhile
      if (!object.ok()) return object.error();
      if (!selector.Matches(*object)) continue;
      *out += std::exchange(first, false) ? "\n" : ",\n";
      *out += WriteJson(*object);
    }
    if (page.next_page_token.empty() || one_page) {
      *out += "\n]}";
      return false;
    }
    Result<api::JobPage> next = service.ListJobs(who, filter, page.next_page_token, kPage);
    if (!next.ok()) return next.error();
    page = std::move(*next);
    return true;
  }
};

std::string ListHead(const KubeResource& resource, std::int64_t version, const std::string& next) {
  json::object metadata{{"resourceVersion", std::to_string(version)}};
  if (!next.empty()) metadata["continue"] = next;
  std::string head = WriteJson(json::object{{"kind", resource.kind + "List"},
                                            {"apiVersion", resource.api_version()},
                                            {"metadata", std::move(metadata)}});
  head.pop_back();
  return head + ",\"items\":[";
}

}  // namespace

Result<JobPtr> KubeFindJob(ApiContext& api, const Who& who, const KubeTarget& target) {
  const KubeResource& resource = *target.resource;
  return resource.is_workload()
             ? api.service.GetJob(who, target.ns + "/" + target.name)
             : api.service.GetJobByName(who, target.ns, *resource.shape, target.name);
}

Result<json::value> KubeJobObject(const api::SchedulerService& service, const Who& who,
                                  const KubeResource& resource, const JobRecord& job) {
  if (resource.is_workload()) return service.WorkloadObject(job, resource.version);
  const Result<json::value> manifest = service.JobManifest(who, job.id);
  if (!manifest.ok()) return manifest.error();
  return service.JobObject(job, *manifest);
}

Response KubeListJobs(ApiContext& api, const Who& who, const Request& request,
                      const KubeTarget& target) {
  const QueryReader query(request);
  Result<KubeSelector> selector =
      KubeSelector::Parse(query.Text("labelSelector"), query.Text("fieldSelector"));
  if (!selector.ok()) return ErrorResponse(true, selector.error());
  const auto limit = query.Number("limit", 0, 0, 1'000'000);
  if (!limit.ok()) return ErrorResponse(true, limit.error());
  api::JobFilter filter;
  filter.ns = target.ns;
  if (!target.resource->is_workload()) filter.shape = target.resource->shape;
  filter.include_deleted = false;
  const std::int64_t version = api.service.View()->last_seq;
  const std::size_t size = *limit == 0 ? kPage : static_cast<std::size_t>(*limit);
  Result<api::JobPage> page = api.service.ListJobs(who, filter, query.Text("continue"), size);
  if (!page.ok()) return ErrorResponse(true, page.error());
  Response response;
  const std::string head =
      ListHead(*target.resource, version, *limit > 0 ? page->next_page_token : "");
  auto listing = std::make_shared<JobListing>(JobListing{api.service, who, *target.resource,
                                                         std::move(*selector), filter,
                                                         std::move(*page), *limit > 0, true});
  response.producer = [listing, head, begun = false](std::string* out) mutable {
    if (!std::exchange(begun, true)) *out += head;
    const Result<bool> more = listing->Step(out);
    if (!more.ok())
      throw std::runtime_error(
          more.error().detail);  // cuts the answer: the client sees it is not whole
    return *more;
  };
  return response;
}

Response KubeGetJob(ApiContext& api, const Who& who, const KubeTarget& target) {
  const KubeResource& resource = *target.resource;
  const Result<JobPtr> job = KubeFindJob(api, who, target);
  if (!job.ok()) return ErrorResponse(true, job.error());
  const Result<json::value> object = KubeJobObject(api.service, who, resource, **job);
  return object.ok() ? JsonResponse(*object) : ErrorResponse(true, object.error());
}

void KubeCreateJob(ApiContext& api, const Who& who, const KubeTarget& target, json::value manifest,
                   bool dry_run, std::string idempotency_key, Responder respond) {
  if (dry_run) {
    std::vector<json::value> documents{manifest};
    api.service.Apply(who, target.ns, std::move(documents), true,
                      [respond, manifest](Result<std::vector<api::DocumentOutcome>> outcome) {
                        respond([manifest, outcome = std::move(outcome)] {
                          return outcome.ok() ? JsonResponse(manifest, 201)
                                              : ErrorResponse(true, outcome.error());
                        });
                      });
    return;
  }
  api::SubmitRequest submit{target.ns, manifest, std::move(idempotency_key)};
  api.service.SubmitJob(who, std::move(submit),
                        [&service = api.service, respond, resource = target.resource,
                         manifest = std::move(manifest)](Result<Submitted> job) {
                          respond([&service, resource, manifest, job = std::move(job)] {
                            if (!job.ok()) return ErrorResponse(true, job.error());
                            return JsonResponse(
                                resource->is_workload()
                                    ? service.WorkloadObject(*job->job, resource->version)
                                    : service.JobObject(*job->job, manifest),
                                201);
                          });
                        });
}

void KubeDeleteJob(ApiContext& api, const Who& who, const KubeTarget& target, Responder respond) {
  const Result<JobPtr> job =
      api.service.GetJobByName(who, target.ns, *target.resource->shape, target.name);
  if (!job.ok()) return respond([error = job.error()] { return ErrorResponse(true, error); });
  api.service.ChangeJob(who, std::to_string((*job)->id.value), JobVerb::kDelete,
                        [respond, target](Result<JobPtr> deleted) {
                          respond([target, deleted = std::move(deleted)] {
                            return deleted.ok() ? KubeDeleted(target, (*deleted)->uid.ToString())
                                                : ErrorResponse(true, deleted.error());
                          });
                        });
}

}  // namespace muster::rest
