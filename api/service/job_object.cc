// A job as an object on a Kubernetes path: its own kind, or Kueue's Workload.
#include "api/service/job_status.h"
#include "api/service/scheduler_service.h"
#include "api/service/views.h"
#include "api/service/workload_name.h"
#include "api/service/workload_object.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/shapes/parts/canonical.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

void SetMetadata(const JobRecord& job, json::object* out) {
  json::value& member = (*out)["metadata"];
  if (!member.is_object()) member = json::object();
  json::object& metadata = member.get_object();
  metadata["name"] = job.name;
  metadata["namespace"] = job.ns;
  metadata["uid"] = job.uid.ToString();
  metadata["resourceVersion"] = std::to_string(job.resource_version);
  const ElasticScale* scale = ScaleOf(job);
  metadata["generation"] = scale == nullptr ? 1 : scale->generation;
  metadata["creationTimestamp"] = FormatRfc3339(job.submit_time);
  if (!job.deletion_requested) return;
  const WallTime since = job.end_time.set() ? job.end_time : job.submit_time;
  metadata["deletionTimestamp"] = FormatRfc3339(since);
}

bool HasSuspend(ShapeKind shape) {
  return shape == ShapeKind::kJob || shape == ShapeKind::kJobSet || shape == ShapeKind::kRayJob ||
         shape == ShapeKind::kRayCluster;
}

// The class and the boost that it has now, which need not be those it was submitted with.
void SetPriority(const JobRecord& job, json::object* metadata) {
  const auto set = [metadata](const char* map, std::string_view key, const std::string& text) {
    json::value& member = (*metadata)[map];
    if (!member.is_object()) member = json::object();
    member.get_object()[key] = text;
  };
  if (!job.priority_class.empty()) set("labels", shapes::kPriorityKey, job.priority_class);
  const bool written = metadata->contains("annotations") &&
                       (*metadata)["annotations"].is_object() &&
                       (*metadata)["annotations"].get_object().contains(shapes::kPriorityBoostKey);
  if (job.priority_boost != 0 || written)
    set("annotations", shapes::kPriorityBoostKey, std::to_string(job.priority_boost));
}

}  // namespace

json::value SchedulerService::JobObject(const JobRecord& job, const json::value& manifest) const {
  json::value canonical = manifest;
  shapes::CanonicaliseQuantities(&canonical);
  json::object out = canonical.is_object() ? canonical.get_object() : json::object();
  SetMetadata(job, &out);
  // Queued jobs are written with `suspend: true`; as under Kueue it is false from the start on.
  json::object* spec = HasSuspend(job.shape) ? MutableObject(&out, "spec") : nullptr;
  json::value* suspend = spec == nullptr ? nullptr : spec->if_contains("suspend");
  if (suspend != nullptr) *suspend = !IsDispatched(job.state) && !job.start_time.set();
  SetPriority(job, &out["metadata"].get_object());
  out["status"] = KindStatus(job, *engine_.View()->settings);
  return out;
}

json::value SchedulerService::WorkloadObject(const JobRecord& job,
                                             const std::string& version) const {
  json::object out;
  out["apiVersion"] = "kueue.x-k8s.io/" + version;
  out["kind"] = "Workload";
  SetMetadata(job, &out);
  out["metadata"].as_object()["name"] = WorkloadNameOf(job);
  SetWorkloadLabels(job, &out["metadata"].get_object());
  if (job.shape != ShapeKind::kWorkload) {
    out["metadata"].as_object()["ownerReferences"] =
        json::array{json::object{{"apiVersion", ApiVersionOf(job.shape)},
                                 {"kind", ShapeKindName(job.shape)},
                                 {"name", job.name},
                                 {"uid", job.uid.ToString()},
                                 {"controller", true}}};
  }
  out["spec"] = WorkloadSpec(job, version);
  out["status"] = WorkloadStatus(job, *engine_.View()->settings, version);
  return out;
}

}  // namespace muster::api
