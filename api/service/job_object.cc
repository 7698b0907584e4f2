// A job as an object on a Kubernetes path: as its own kind, or as Kueue's Workload. Holds
// SchedulerService::JobObject and WorkloadObject.
//
// A job's own object is the stored manifest with what Muster knows better: metadata, the present
// priority class and boost, `suspend`, and the status of its kind (job_status.h). Quantities of the
// manifest are stored as submitted and get their canonical form here. A Workload is made from the
// record alone (workload_object.h), without the manifest.
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

// The members of metadata that an API server writes. A job that was deleted while it ran has a
// deletionTimestamp until its record goes.
void SetMetadata(const JobRecord& job, json::object* out) {
  json::object& metadata = MakeObjectAt(*out, "metadata");
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

// Writes the present class and boost of the job, which may differ from those it was submitted with.
// A boost of 0 is written only where the manifest has the annotation.
void SetPriority(const JobRecord& job, json::object* metadata) {
  const auto set = [metadata](const char* map, std::string_view key, const std::string& text) {
    MakeObjectAt(*metadata, map)[key] = text;
  };
  if (!job.priority_class.empty()) set("labels", shapes::kPriorityKey, job.priority_class);
  // An annotation that the user wrote must show the present boost, also if that is 0 now.
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
  const bool suspends = ShapeInfoOf(job.shape).suspend_in_spec;
  json::object* spec = suspends ? MutableObject(&out, "spec") : nullptr;
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
