// Translates a job's record into the status of its kind, one function per kind. The record has one
// state for all kinds; each kind's API has its own words for it (conditions, a phase, a terminal
// state). A condition's transition time is the time of the job's last change of state.
#include "api/service/job_status.h"

#include "api/service/views.h"
#include "api/service/workload_object.h"

namespace muster::api {
namespace {

bool Waiting(const JobRecord& job) {
  return job.state == JobState::kHeld || job.state == JobState::kPending;
}

// The latest of the job's times that is set.
WallTime LastChange(const JobRecord& job) {
  if (job.end_time.set()) return job.end_time;
  if (job.start_time.set()) return job.start_time;
  if (job.admit_time.set()) return job.admit_time;
  return job.submit_time;
}

// A condition with status True and the job's message.
void AddCondition(json::array* conditions, const char* type, const std::string& reason,
                  const JobRecord& job) {
  conditions->push_back(ConditionJson({type, reason, job.message, true, LastChange(job)}));
}

void SetTime(json::object* status, const char* key, WallTime time) {
  if (time.set()) (*status)[key] = FormatRfc3339(time);
}

// The condition types by which a kind reports success, failure, suspension and running; "" where
// the kind has none.
struct ConditionNames {
  const char* succeeded;
  const char* failed;
  const char* suspended;
  const char* running;
};

// The one condition that the job's state implies, or none.
json::array StateConditions(const JobRecord& job, const ConditionNames& names) {
  json::array out;
  const std::string reason(ReasonName(job.reason));
  if (job.state == JobState::kSucceeded) {
    AddCondition(&out, names.succeeded, reason.empty() ? "Succeeded" : reason, job);
  } else if (job.state == JobState::kFailed || job.state == JobState::kCancelled) {
    AddCondition(&out, names.failed, reason.empty() ? "Failed" : reason, job);
  } else if (Waiting(job) && *names.suspended != '\0') {
    AddCondition(&out, names.suspended, "JobSuspended", job);
  } else if (job.state == JobState::kRunning && *names.running != '\0') {
    AddCondition(&out, names.running, reason.empty() ? "Running" : reason, job);
  }
  return out;
}

// `ready` and `active` are the same number: the record counts ready pods only.
json::object BatchJobStatus(const JobRecord& job) {
  json::object status;
  if (job.state == JobState::kRunning) status["ready"] = job.ready_pods;
  if (job.state == JobState::kRunning) status["active"] = job.ready_pods;
  if (job.succeeded_pods > 0) status["succeeded"] = job.succeeded_pods;
  if (job.failed_pods > 0) status["failed"] = job.failed_pods;
  SetTime(&status, "startTime", job.start_time);
  if (job.state == JobState::kSucceeded) SetTime(&status, "completionTime", job.end_time);
  status["conditions"] = StateConditions(job, {"Complete", "Failed", "Suspended", ""});
  return status;
}

// `restarts` is the number of times that Muster requeued the job.
json::object JobSetStatus(const JobRecord& job) {
  json::object status;
  status["conditions"] = StateConditions(job, {"Completed", "Failed", "Suspended", ""});
  if (job.state == JobState::kSucceeded) status["terminalState"] = "Completed";
  if (job.state == JobState::kFailed || job.state == JobState::kCancelled) {
    status["terminalState"] = "Failed";
  }
  status["restarts"] = job.requeues;
  return status;
}

// Two words: the deployment's state and, once it ran, the job's own.
json::object RayJobStatus(const JobRecord& job) {
  json::object status;
  const char* deployment = "Initializing";
  switch (job.state) {
    case JobState::kHeld:
    case JobState::kPending:
    case JobState::kReserved:
      deployment = "Suspended";
      break;
    case JobState::kAdmitted:
      break;
    case JobState::kRunning:
      deployment = "Running";
      status["jobStatus"] = "RUNNING";
      break;
    case JobState::kSucceeded:
      deployment = "Complete";
      status["jobStatus"] = "SUCCEEDED";
      break;
    case JobState::kFailed:
      deployment = "Failed";
      status["jobStatus"] = "FAILED";
      break;
    case JobState::kCancelled:
      deployment = "Failed";
      status["jobStatus"] = "STOPPED";
      break;
  }
  status["jobDeploymentStatus"] = deployment;
  status["message"] = job.message;
  SetTime(&status, "startTime", job.start_time);
  SetTime(&status, "endTime", job.end_time);
  return status;
}

json::object RayClusterStatus(const JobRecord& job) {
  json::object status;
  status["state"] = job.state == JobState::kRunning ? "ready"
                    : Waiting(job)                  ? "suspended"
                    : IsTerminal(job.state)         ? "failed"
                                                    : "";
  // One of the ready pods is the head.
  status["readyWorkerReplicas"] = job.ready_pods > 0 ? job.ready_pods - 1 : 0;
  return status;
}

json::object PyTorchJobStatus(const JobRecord& job) {
  json::object status;
  status["conditions"] = StateConditions(job, {"Succeeded", "Failed", "Suspended", "Running"});
  SetTime(&status, "startTime", job.start_time);
  SetTime(&status, "completionTime", job.end_time);
  return status;
}

// `replicas` is the size of the first pod set: with a leader template that is the number of groups.
// All of them count as ready while the job runs, since the record does not count groups.
json::object LeaderWorkerSetStatus(const JobRecord& job) {
  std::int64_t replicas = 0;
  if (job.pod_sets != nullptr && !job.pod_sets->empty()) replicas = job.pod_sets->front().count;
  const bool available = job.state == JobState::kRunning;
  json::object status;
  status["replicas"] = replicas;
  status["readyReplicas"] = available ? replicas : 0;
  json::object condition =
      ConditionJson({"Available", available ? "AllGroupsReady" : "GroupsAreNotReady", job.message,
                     available, LastChange(job)});
  status["conditions"] = json::array{std::move(condition)};
  return status;
}

}  // namespace

json::object KindStatus(const JobRecord& job, const AdmissionSettings& settings) {
  switch (job.shape) {
    case ShapeKind::kJob:
    case ShapeKind::kBatchScript:
      return BatchJobStatus(job);
    case ShapeKind::kJobSet:
      return JobSetStatus(job);
    case ShapeKind::kRayJob:
      return RayJobStatus(job);
    case ShapeKind::kRayCluster:
      return RayClusterStatus(job);
    case ShapeKind::kPyTorchJob:
      return PyTorchJobStatus(job);
    case ShapeKind::kLeaderWorkerSet:
      return LeaderWorkerSetStatus(job);
    case ShapeKind::kWorkload:
      return WorkloadStatus(job, settings, "v1beta1");
  }
  return {};
}

}  // namespace muster::api
