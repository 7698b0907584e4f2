// A job as an object on a Kubernetes path: its own kind, or Kueue's Workload.
#include "api/service/job_status.h"
#include "api/service/scheduler_service.h"
#include "api/service/views.h"

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
  metadata["generation"] = 1;  // a job's spec never changes
  metadata["creationTimestamp"] = FormatRfc3339(job.submit_time);
  if (!job.deletion_requested) return;
  const WallTime since = job.end_time.set() ? job.end_time : job.submit_time;
  metadata["deletionTimestamp"] = FormatRfc3339(since);
}

bool HasSuspend(ShapeKind shape) {
  return shape == ShapeKind::kJob || shape == ShapeKind::kJobSet || shape == ShapeKind::kRayJob ||
         shape == ShapeKind::kRayCluster;
}

}  // namespace

json::value SchedulerService::JobObject(const JobRecord& job, const json::value& manifest) const {
  json::object out = manifest.is_object() ? manifest.get_object() : json::object();
  SetMetadata(job, &out);
  // Queued jobs are written with `suspend: true`; as under Kueue it is false from the start on.
  json::value* spec = HasSuspend(job.shape) ? out.if_contains("spec") : nullptr;
  if (spec != nullptr && spec->is_object()) {
    json::value* suspend = spec->get_object().if_contains("suspend");
    if (suspend != nullptr) *suspend = !IsDispatched(job.state) && !job.start_time.set();
  }
  out["status"] = KindStatus(job);
  return out;
}

json::value SchedulerService::WorkloadObject(const JobRecord& job) const {
  json::object out;
  out["apiVersion"] = ApiVersionOf(ShapeKind::kWorkload);
  out["kind"] = "Workload";
  SetMetadata(job, &out);
  if (job.shape != ShapeKind::kWorkload) {
    out["metadata"].as_object()["ownerReferences"] =
        json::array{json::object{{"apiVersion", ApiVersionOf(job.shape)},
                                 {"kind", ShapeKindName(job.shape)},
                                 {"name", job.name},
                                 {"uid", job.uid.ToString()},
                                 {"controller", true}}};
  }
  out["spec"] = WorkloadSpec(job);
  out["status"] = WorkloadStatus(job);
  return out;
}

}  // namespace muster::api
