// Job kinds on Kubernetes paths: POST submits, GET answers the kind's own object with its status,
// DELETE ends it.
#include <memory>
#include <utility>

#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_handlers.h"
#include "api/rest/kube_lists.h"
#include "api/rest/kube_warnings.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/shapes/parts/canonical.h"

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
  std::int64_t version;  // of the list
  std::size_t limit;     // 0: none
  std::size_t written = 0;

  /// One page of the service; false after the last, or after as many objects as the client wants.
  Result<bool> Step(std::string* out) {
    for (std::size_t i = 0; i < page.items.size(); ++i) {
      const JobRecord& job = *page.items[i];
      const Result<json::value> object = KubeJobObject(service, who, resource, job);
      if (!object.ok() && object.error().code == Code::kNotFound) continue;  // archived meanwhile
      if (!object.ok()) return object.error();
      if (!selector.Matches(*object)) continue;
      *out += written++ == 0 ? "\n" : ",\n";
      *out += WriteJson(*object);
      if (written != limit) continue;
      const bool more = i + 1 < page.items.size() || !page.next_page_token.empty();
      return End(more ? api::PageTokenAfter(job.id) : "", out);
    }
    if (page.next_page_token.empty()) return End("", out);
    Result<api::JobPage> next = service.ListJobs(who, filter, page.next_page_token, kPage);
    if (!next.ok()) return next.error();
    page = std::move(*next);
    return true;
  }

 private:
  /// The metadata come last: only now it is known whether there is more.
  bool End(const std::string& next, std::string* out) const {
    json::object metadata{{"resourceVersion", std::to_string(version)}};
    if (!next.empty()) metadata["continue"] = next;
    *out += "\n],\"metadata\":" + WriteJson(std::move(metadata)) + "}";
    return false;
  }
};

std::string ListHead(const KubeResource& resource) {
  std::string head = WriteJson(
      json::object{{"kind", resource.kind + "List"}, {"apiVersion", resource.api_version()}});
  head.pop_back();
  return head + ",\"items\":[";
}

/// The service's word for a token is that of /v1.
Error OfContinue(Error error) {
  for (FieldError& field : error.fields) {
    if (field.field == "page_token") return BadContinue();
  }
  return error;
}

}  // namespace

Result<JobPtr> KubeFindJob(ApiContext& api, const Who& who, const KubeTarget& target) {
  const KubeResource& resource = *target.resource;
  return resource.is_workload()
             ? api.service.GetJobByWorkload(who, target.ns, target.name)
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
  Result<ListWish> wish = ReadListWish(request);
  if (!wish.ok()) return ErrorResponse(true, wish.error());
  api::JobFilter filter;
  filter.ns = target.ns;
  if (!target.resource->is_workload()) filter.shape = target.resource->shape;
  filter.include_deleted = false;
  const std::int64_t version = api.service.View()->last_seq;
  Result<api::JobPage> page = api.service.ListJobs(who, filter, wish->after, kPage);
  if (!page.ok()) return ErrorResponse(true, OfContinue(page.error()));
  Response response;
  const std::string head = ListHead(*target.resource);
  auto listing = std::make_shared<JobListing>(
      JobListing{api.service, who, *target.resource, std::move(wish->selector), filter,
                 std::move(*page), version, wish->limit, 0});
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
                   std::vector<std::string> warnings, bool dry_run, std::string idempotency_key,
                   Responder respond) {
  const auto made = [warnings = std::move(warnings)](const json::value& object) {
    Response response = JsonResponse(object, 201);
    AddWarnings(warnings, &response);
    return response;
  };
  if (dry_run) {
    std::vector<json::value> documents{manifest};
    shapes::CanonicaliseQuantities(&manifest);
    api.service.Apply(who, target.ns, std::move(documents), true,
                      [respond, manifest, made](Result<std::vector<api::DocumentOutcome>> outcome) {
                        respond([manifest, made, outcome = std::move(outcome)] {
                          return outcome.ok() ? made(manifest)
                                              : ErrorResponse(true, outcome.error());
                        });
                      });
    return;
  }
  api::SubmitRequest submit{target.ns, manifest, std::move(idempotency_key)};
  api.service.SubmitJob(who, std::move(submit),
                        [&service = api.service, respond, resource = target.resource, made,
                         manifest = std::move(manifest)](Result<Submitted> job) {
                          respond([&service, resource, manifest, made, job = std::move(job)] {
                            if (!job.ok()) return ErrorResponse(true, job.error());
                            return made(resource->is_workload()
                                            ? service.WorkloadObject(*job->job, resource->version)
                                            : service.JobObject(*job->job, manifest));
                          });
                        });
}

void KubeDeleteJob(ApiContext& api, const Who& who, const KubeTarget& target, Responder respond) {
  const Result<JobPtr> job = KubeFindJob(api, who, target);
  if (!job.ok()) return respond([error = job.error()] { return ErrorResponse(true, error); });
  if ((*job)->shape != *target.resource->shape) {
    return respond([job = *job] {
      return PlainProblem(true, 409,
                          "this Workload belongs to the " + std::string(ShapeKindName(job->shape)) +
                              " \"" + job->name + "\": delete that, its Workload goes with it");
    });
  }
  api.service.ChangeJob(who, std::to_string((*job)->id.value), JobVerb::kDelete,
                        [respond, target](Result<JobPtr> deleted) {
                          respond([target, deleted = std::move(deleted)] {
                            return deleted.ok() ? KubeDeleted(target, (*deleted)->uid.ToString())
                                                : ErrorResponse(true, deleted.error());
                          });
                        });
}

}  // namespace muster::rest
