// A list asks once per kind for the whole cluster and, where that is refused, once per namespace,
// so what it costs does not grow with the jobs.
#include "api/service/job_rights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/service/resource_refs.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

using auth::Authorizer;
using auth::Principal;
using auth::Verb;

// What a list of jobs of one kind in one namespace asks for.
auth::ResourceRef ListedRef(const JobFilter& filter, ShapeKind kind, std::string_view ns,
                            std::string_view subresource = "") {
  return filter.rule == ListRule::kAccounting ? AccountingIn(ns, subresource)
                                              : RefOf(kind, ns, "", subresource);
}

// Adds the jobs of one kind in one namespace, or with `ns` "" in all of them, to what is seen. True
// if all of them are seen.
bool AddPlace(const Authorizer& authorizer, const Principal& who, const JobFilter& filter,
              ShapeKind kind, const std::string& ns, JobVisibility* seen) {
  if (authorizer.Allows(who, Verb::kList, ListedRef(filter, kind, ns))) {
    seen->all.push_back({ns, kind});
    return true;
  }
  if (authorizer.Allows(who, Verb::kList, ListedRef(filter, kind, ns, kOwnSubresource)))
    seen->own.push_back({ns, kind});
  return false;
}

// True if the job is the caller's and RESOURCE/own gives the verb; it counts for logs too.
bool OwnAllows(const Authorizer& authorizer, const Principal& who, Verb verb, const JobRecord& job,
               std::string_view subresource) {
  return job.user == who.user && (subresource.empty() || subresource == kLogSubresource) &&
         authorizer.Allows(who, verb, RefOf(job, kOwnSubresource));
}

}  // namespace

Status MayJob(const Authorizer& authorizer, const Principal& who, Verb verb, const JobRecord& job,
              std::string_view subresource) {
  // The right to one's own is asked first and by Allows, so that the trail has no refusal of what
  // is then permitted.
  if (OwnAllows(authorizer, who, verb, job, subresource)) return Done{};
  return authorizer.Authorize(who, verb, RefOf(job, subresource));
}

bool JobAllows(const Authorizer& authorizer, const Principal& who, Verb verb, const JobRecord& job,
               std::string_view subresource) {
  return OwnAllows(authorizer, who, verb, job, subresource) ||
         authorizer.Allows(who, verb, RefOf(job, subresource));
}

bool SeesJob(const Authorizer& authorizer, const Principal& who, const JobRecord& job) {
  return JobAllows(authorizer, who, Verb::kGet, job);
}

bool MaySeeIn(const Authorizer& authorizer, const Principal& who, const std::string& ns,
              const std::string& name) {
  return std::any_of(std::begin(kShapeInfos), std::end(kShapeInfos), [&](const ShapeInfo& info) {
    return authorizer.Allows(who, Verb::kGet, RefOf(info.kind, ns, name)) ||
           authorizer.Allows(who, Verb::kGet, RefOf(info.kind, ns, name, kLogSubresource)) ||
           authorizer.Allows(who, Verb::kGet, RefOf(info.kind, ns, name, kOwnSubresource));
  });
}

std::optional<NewJobPlace> NewJobPlaceOf(const std::string& ns, const json::value& body) {
  const json::object* object = body.if_object();
  if (object == nullptr) return std::nullopt;
  NewJobPlace place;
  place.ns = TextAt(body, {"metadata", "namespace"});
  if (place.ns.empty()) place.ns = ns.empty() ? "default" : ns;
  if (shapes::IsBatchForm(body)) {
    place.shape = ShapeKind::kBatchScript;
    return place;
  }
  const std::string_view version = ViewAt(body, "apiVersion"), kind = ViewAt(body, "kind");
  for (const ShapeInfo& info : kShapeInfos) {
    if (info.name != kind || version.empty()) continue;
    if (version != info.api_version && version != info.newer_version) continue;
    place.shape = info.kind;
    return place;
  }
  return std::nullopt;
}

Status MayCreateJob(const Authorizer& authorizer, const Principal& who, const NewJobPlace& place) {
  return authorizer.Authorize(who, Verb::kCreate, RefOf(place.shape, place.ns, ""));
}

Status MayAccount(const Authorizer& authorizer, const Principal& who, const JobRecord& job) {
  if (job.user == who.user &&
      authorizer.Allows(who, Verb::kList, AccountingIn(job.ns, kOwnSubresource)))
    return Done{};
  return authorizer.Authorize(who, Verb::kList, AccountingIn(job.ns));
}

Result<VisibilityPtr> VisibleJobs(const Authorizer& authorizer, const Principal& who,
                                  const ConfigView& config, const JobFilter& filter) {
  const ShapeKind shown = filter.shape.value_or(ShapeKind::kJob);
  if (filter.rule == ListRule::kWhole) {
    const Status allowed = authorizer.Authorize(
        who, Verb::kList,
        filter.as_workloads ? WorkloadRef(filter.ns, "") : RefOf(shown, filter.ns, ""));
    if (!allowed.ok()) return allowed.error();
    return VisibilityPtr();
  }
  auto seen = std::make_shared<JobVisibility>();
  seen->user = who.user;
  bool everything = true;
  for (const ShapeInfo& info : kShapeInfos) {
    if (filter.shape && info.kind != *filter.shape) continue;
    if (AddPlace(authorizer, who, filter, info.kind, filter.ns, seen.get())) continue;
    everything = false;
    if (!filter.ns.empty()) continue;
    for (const auto& [name, ns] : config.namespaces)
      AddPlace(authorizer, who, filter, info.kind, name, seen.get());
  }
  if (everything) return VisibilityPtr();
  if (seen->empty()) {
    const Status refused =
        authorizer.Authorize(who, Verb::kList, ListedRef(filter, shown, filter.ns));
    if (!refused.ok()) return refused.error();
  }
  std::sort(seen->all.begin(), seen->all.end());
  std::sort(seen->own.begin(), seen->own.end());
  return VisibilityPtr(std::move(seen));
}

}  // namespace muster::api
