// Job kinds on Kubernetes paths: POST submits, GET answers the kind's own object with its status,
// DELETE ends the job.
//
// A list needs one manifest from the store for each job, so it is rendered while it leaves
// (JobListing), page after page of the service's list. A selector is applied to the finished
// object, and a page of the client is full as long as there are more objects that match. Its
// metadata come at the end, since only then it is known whether there is a next page. An error
// after the first byte cuts the answer off.
#include "api/rest/kube_jobs.h"

#include <memory>
#include <utility>

#include "api/rest/http/plain_problem.h"
#include "api/rest/kube_lists.h"
#include "api/rest/kube_warnings.h"
#include "api/rest/problem.h"
#include "api/rest/query_reader.h"
#include "schedd/shapes/parts/canonical.h"

namespace muster::rest {
namespace {

// Jobs per page of the service; their manifests are read one by one while the list leaves.
constexpr std::size_t kPage = 200;

// The state of a list that is being rendered.
struct JobListing {
  const api::SchedulerService& service;
  Caller who;
  const KubeResource& resource;
  KubeSelector selector;
  api::JobFilter filter;
  api::JobPage page;
  std::int64_t version;  // resourceVersion of the list
  std::size_t limit;     // 0: no limit
  std::size_t written = 0;

  // Appends one page of the service. False after the last page, or after `limit` objects.
  Result<bool> Step(std::string* out) {
    for (std::size_t i = 0; i < page.items.size(); ++i) {
      const JobRecord& job = *page.items[i];
      const Result<json::value> object = KubeJobObject(service, resource, job);
      // The job may have been archived since the page was read.
      if (!object.ok() && object.error().code == Code::kNotFound) continue;
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
  // Ends the list; `next` is the token of the next page, "" if there is none. Returns false for
  // Step.
  bool End(const std::string& next, std::string* out) const {
    json::object metadata{{"resourceVersion", std::to_string(version)}};
    if (!next.empty()) metadata["continue"] = next;
    *out += "\n],\"metadata\":" + WriteJson(std::move(metadata)) + "}";
    return false;
  }
};

// The beginning of a list, up to its first item.
std::string ListHead(const KubeResource& resource) {
  std::string head = WriteJson(
      json::object{{"kind", resource.kind + "List"}, {"apiVersion", resource.api_version()}});
  head.pop_back();
  return head + ",\"items\":[";
}

// The service's error names the parameter of /v1; here it is `continue`.
Error OfContinue(Error error) {
  for (FieldError& field : error.fields) {
    if (field.field == "page_token") return BadContinue();
  }
  return error;
}

}  // namespace

Result<JobPtr> KubeFindJob(ApiContext& api, const Caller& who, const KubeTarget& target,
                           api::PathAsk ask) {
  const KubeResource& resource = *target.resource;
  return resource.is_workload()
             ? api.service.GetJobByWorkload(who, target.ns, target.name, ask)
             : api.service.GetJobByName(who, target.ns, *resource.shape, target.name, ask);
}

Result<json::value> KubeJobObject(const api::SchedulerService& service,
                                  const KubeResource& resource, const JobRecord& job) {
  if (resource.is_workload()) return service.WorkloadObject(job, resource.version);
  const Result<json::value> manifest = service.ManifestOf(job);
  if (!manifest.ok()) return manifest.error();
  return service.JobObject(job, *manifest);
}

Response KubeListJobs(ApiContext& api, const Caller& who, const Request& request,
                      const KubeTarget& target) {
  Result<ListWish> wish = ReadListWish(request);
  if (!wish.ok()) return ErrorResponse(true, wish.error());
  api::JobFilter filter;
  filter.ns = target.ns;
  if (!target.resource->is_workload()) filter.shape = target.resource->shape;
  filter.rule = api::ListRule::kWhole;
  filter.as_workloads = target.resource->is_workload();
  // A deleted object is gone for Kubernetes' clients, although /v1 still shows the job.
  filter.include_deleted = false;
  // Taken before the first page, so it is never newer than the list.
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
    // An exception cuts the answer off, so that the client sees that it is not whole.
    if (!more.ok()) throw std::runtime_error(more.error().detail);
    return *more;
  };
  return response;
}

Response KubeGetJob(ApiContext& api, const Caller& who, const KubeTarget& target) {
  const KubeResource& resource = *target.resource;
  const Result<JobPtr> job = KubeFindJob(api, who, target, target.Ask(auth::Verb::kGet));
  if (!job.ok()) return ErrorResponse(true, job.error());
  const Result<json::value> object = KubeJobObject(api.service, resource, **job);
  return object.ok() ? JsonResponse(*object) : ErrorResponse(true, object.error());
}

void KubeCreateJob(ApiContext& api, const Caller& who, const KubeTarget& target,
                   json::value manifest, std::vector<std::string> warnings, bool dry_run,
                   std::string idempotency_key, Responder respond) {
  const auto made = [warnings = std::move(warnings)](const json::value& object) {
    Response response = JsonResponse(object, 201);
    AddWarnings(warnings, &response);
    return response;
  };
  // A dry run has no job to show, so it answers with the manifest.
  if (dry_run) {
    std::vector<json::value> documents{manifest};
    shapes::CanonicaliseQuantities(&manifest);
    api.service.Apply(who, target.ns, std::move(documents), true,
                      [respond, manifest, made](Result<std::vector<api::DocumentOutcome>> outcome) {
      respond([manifest, made, outcome = std::move(outcome)] {
        return outcome.ok() ? made(manifest) : ErrorResponse(true, outcome.error());
      });
    });
    return;
  }
  api::SubmitRequest submit{target.ns, manifest, std::move(idempotency_key)};
  api.service.SubmitJob(who, std::move(submit),
                        [&service = api.service, respond, resource = target.resource, made,
                         manifest = std::move(manifest)](Result<SubmittedJob> job) {
    respond([&service, resource, manifest, made, job = std::move(job)] {
      if (!job.ok()) return ErrorResponse(true, job.error());
      return made(resource->is_workload() ? service.WorkloadObject(*job->job, resource->version)
                                          : service.JobObject(*job->job, manifest));
    });
  });
}

void KubeDeleteJob(ApiContext& api, const Caller& who, const KubeTarget& target,
                   Responder respond) {
  const Result<JobPtr> job = KubeFindJob(api, who, target, {auth::Verb::kDelete});
  if (!job.ok()) return respond([error = job.error()] { return ErrorResponse(true, error); });
  // The path names the Workload of a job of another kind.
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
