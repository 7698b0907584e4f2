// The status of each kind (rules A10, D23): one Read function per kind, in a table by name.
//
// Each function first looks for an end (Succeed, Fail), because an end outweighs everything else.
// Without an end, Go sets Suspended, Running or Pending. `reclaimable` counts the pods of a running
// attempt that will not be needed again: of a Job with completions those beyond the completions
// left, of a JobSet the pods of child jobs that have succeeded.
#include "backends/k8s/status/status_kinds.h"

#include <algorithm>
#include <array>

#include "schedd/base/check.h"
#include "schedd/base/quantity.h"
#include "schedd/model/job_end.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/indexes.h"

namespace muster::k8s {
namespace {

std::int32_t Clamp(std::int64_t count) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 0, INT32_MAX));
}

std::int64_t SizeOf(const Reader& list) {
  const json::array* array = list.Array();
  return array == nullptr ? 0 : static_cast<std::int64_t>(array->size());
}

// The pod set's name, by the label that Render put on the template; `otherwise` if the label is
// gone.
std::string PodSetOf(const Reader& pod_template, std::string_view otherwise) {
  const std::string name = pod_template["metadata"]["labels"][kPodSetLabel].Text(kNameBytes);
  return name.empty() ? std::string(otherwise) : name;
}

// "Reason: message" of a condition, or of a status with these two fields.
std::string Sentence(const Reader& condition) {
  const std::string reason = condition["reason"].Text(kNameBytes);
  const std::string message = condition["message"].Text(kMessageBytes);
  if (reason.empty() || message.empty()) return reason + message;
  return CleanText(reason + ": " + message, kMessageBytes);
}

WallTime Since(const Reader& condition) { return condition["lastTransitionTime"].Time(); }

void Succeed(WallTime when, ObjectState* state) {
  state->phase = RemotePhase::kSucceeded;
  state->end_time = when;
}

void Fail(Reason reason, std::string message, WallTime when, ObjectState* state) {
  state->phase = RemotePhase::kFailed;
  state->reason = reason;
  state->message = std::move(message);
  state->end_time = when;
}

// The phase of an object that has not ended.
void Go(bool running, ObjectState* state) {
  if (state->suspended) {
    state->phase = RemotePhase::kSuspended;
  } else {
    state->phase = running ? RemotePhase::kRunning : RemotePhase::kPending;
  }
}

// --- batch/v1 Job ---------------------------------------------------------------------------

// A Job's size. Without completions it has a work queue and ends when a pod succeeds.
struct JobCounts {
  std::int32_t parallelism = 1;
  std::optional<std::int32_t> completions;
  std::int32_t AtOnce() const {
    return completions ? std::min(parallelism, *completions) : parallelism;
  }
};

JobCounts CountsOf(const Reader& job_spec) {
  JobCounts counts;
  counts.parallelism = job_spec["parallelism"].Count(1);
  if (job_spec["completions"].Integer()) counts.completions = job_spec["completions"].Count();
  return counts;
}

// Of the pods that may run at once, those that no completion is left for. An Indexed Job counts
// completed and failed indexes; other Jobs count succeeded pods.
void ReclaimOfJob(const Reader& spec, const Reader& status, ObjectState* state) {
  const JobCounts counts = CountsOf(spec);
  if (!counts.completions || counts.parallelism <= 1) return;
  std::int64_t done = state->succeeded;
  if (spec["completionMode"].View() == "Indexed") {
    for (const char* key : {"completedIndexes", "failedIndexes"}) {
      const std::string_view indexes = status[key].View();
      const auto more = CountIndexes(indexes, *counts.completions);
      if (key[0] == 'c' && (more || indexes.empty())) done = more.value_or(0);
      if (key[0] == 'f') done += more.value_or(0);
    }
  }
  const std::int64_t left = std::max<std::int64_t>(0, *counts.completions - done);
  const std::int64_t spare = counts.AtOnce() - left;
  if (spare > 0) state->reclaimable.push_back({PodSetOf(spec["template"], "main"), Clamp(spare)});
}

// SuccessCriteriaMet and FailureTarget are set while pods still run, so they are no end. Pods that
// have ended but are not counted yet (uncountedTerminatedPods) are added.
void ReadJob(const Reader& object, ObjectState* state) {
  const Reader spec = object["spec"], status = object["status"];
  const Reader uncounted = status["uncountedTerminatedPods"];
  state->suspended = spec["suspend"].IsTrue();
  state->start_time = status["startTime"].Time();
  state->ready = status["ready"].Count();
  state->active = status["active"].Count();
  state->succeeded =
      Clamp(std::int64_t{status["succeeded"].Count()} + SizeOf(uncounted["succeeded"]));
  state->failed = Clamp(std::int64_t{status["failed"].Count()} + SizeOf(uncounted["failed"]));
  const Reader conditions = status["conditions"];
  if (const Reader complete = ConditionOf(conditions, "Complete"); HoldsTrue(complete)) {
    const WallTime end = status["completionTime"].Time();
    return Succeed(end.set() ? end : Since(complete), state);
  }
  if (const Reader failed = ConditionOf(conditions, "Failed"); HoldsTrue(failed)) {
    return Fail(ReasonOfJobEnd(failed["reason"].View()), Sentence(failed), Since(failed), state);
  }
  const std::int64_t wanted = CountsOf(spec).AtOnce();
  state->wanted = Clamp(wanted);
  Go(wanted > 0 && std::int64_t{state->ready} + state->succeeded >= wanted, state);
  ReclaimOfJob(spec, status, state);
  if (const Reader target = ConditionOf(conditions, "FailureTarget"); HoldsTrue(target))
    state->message = Sentence(target);
}

// --- JobSet ---------------------------------------------------------------------------------

// The status of one replicated job of a JobSet, by its name.
Reader ReplicatedStatus(const Reader& status, std::string_view name) {
  Reader found(nullptr);
  status["replicatedJobsStatus"].Each([&](const Reader& one) {
    if (one["name"].View() == name) found = one;
  });
  return found;
}

// Running means that all child jobs are ready or have succeeded.
void ReadReplicatedJobs(const Reader& object, ObjectState* state) {
  std::int64_t wanted = 0, ready = 0, wanted_pods = 0;
  object["spec"]["replicatedJobs"].Each([&](const Reader& replicated) {
    const Reader seen = ReplicatedStatus(object["status"], replicated["name"].View());
    const std::int32_t succeeded = seen["succeeded"].Count(),
                       replicas = replicated["replicas"].Count(1);
    wanted += replicas;
    ready += std::int64_t{seen["ready"].Count()} + succeeded;
    const Reader job = replicated["template"]["spec"];
    const std::int32_t at_once = CountsOf(job).AtOnce();
    wanted_pods = SaturatingAdd(wanted_pods, SaturatingMul(replicas, at_once));
    const std::int64_t pods = SaturatingMul(succeeded, at_once);
    if (pods == 0) return;
    const std::string name = PodSetOf(job["template"], replicated["name"].View());
    state->reclaimable.push_back({name, Clamp(pods)});
  });
  state->wanted = Clamp(wanted_pods);
  Go(wanted > 0 && ready >= wanted, state);
}

// A JobSet's own restarts belong to the same attempt; their number is its message.
void ReadJobSet(const Reader& object, ObjectState* state) {
  const Reader status = object["status"];
  const Reader conditions = status["conditions"];
  state->suspended = object["spec"]["suspend"].IsTrue();
  if (const Reader resumed = ConditionOf(conditions, "Suspended");
      resumed["status"].View() == "False") {
    state->start_time = Since(resumed);
  }
  if (const Reader done = ConditionOf(conditions, "Completed"); HoldsTrue(done))
    return Succeed(Since(done), state);
  if (const Reader failed = ConditionOf(conditions, "Failed"); HoldsTrue(failed)) {
    const bool restarts = failed["reason"].View() == "ReachedMaxRestarts";
    return Fail(restarts ? Reason::kBackoffLimitExceeded : Reason::kFailed, Sentence(failed),
                Since(failed), state);
  }
  ReadReplicatedJobs(object, state);
  const std::int32_t restarts = status["restarts"].Count();
  if (restarts > 0) state->message = "restarted " + std::to_string(restarts) + " times";
}

// --- PyTorchJob -----------------------------------------------------------------------------

// The operator gives the same reason for every failure, so ours is derived from the deadline, the
// backoff limit and the replica counts, not from the words of its message.
Reason ReasonOfTraining(const Reader& policy, const ObjectState& state, WallTime end) {
  const auto deadline = policy["activeDeadlineSeconds"].Integer();
  if (deadline && state.start_time.set() && end.set() &&
      end >= state.start_time.PlusSeconds(*deadline)) {
    return Reason::kDeadlineExceeded;
  }
  // The backoff limit ends the job while no replica counts as failed (containers restart in place),
  // or when more have failed than it permits. Otherwise a replica has failed for good.
  const auto limit = policy["backoffLimit"].Integer();
  if (limit && (state.failed == 0 || state.failed > *limit)) return Reason::kBackoffLimitExceeded;
  return Reason::kFailed;
}

// Sums the counts over all replica types.
void CountReplicas(const Reader& statuses, ObjectState* state) {
  const json::object* types = statuses.Object();
  if (types == nullptr) return;
  std::int64_t active = 0, succeeded = 0, failed = 0;
  for (const auto& [type, value] : *types) {
    const Reader one(&value);
    active += one["active"].Count();
    succeeded += one["succeeded"].Count();
    failed += one["failed"].Count();
  }
  state->active = Clamp(active);
  state->succeeded = Clamp(succeeded);
  state->failed = Clamp(failed);
}

void ReadPyTorchJob(const Reader& object, ObjectState* state) {
  const Reader status = object["status"];
  const Reader conditions = status["conditions"];
  state->suspended = object["spec"]["runPolicy"]["suspend"].IsTrue();
  state->start_time = status["startTime"].Time();
  CountReplicas(status["replicaStatuses"], state);
  const WallTime end = status["completionTime"].Time();
  if (const Reader done = ConditionOf(conditions, "Succeeded"); HoldsTrue(done))
    return Succeed(end.set() ? end : Since(done), state);
  if (const Reader failed = ConditionOf(conditions, "Failed"); HoldsTrue(failed)) {
    const WallTime when = end.set() ? end : Since(failed);
    return Fail(ReasonOfTraining(object["spec"]["runPolicy"], *state, when), Sentence(failed), when,
                state);
  }
  Go(HoldsTrue(ConditionOf(conditions, "Running")), state);
  if (const Reader restarting = ConditionOf(conditions, "Restarting"); HoldsTrue(restarting))
    state->message = Sentence(restarting);
}

// --- RayJob, RayCluster ---------------------------------------------------------------------

// Maps a RayJob's end that is no success to our reason and a sentence.
void FailRayJob(const Reader& status, std::string_view deployment, ObjectState* state) {
  const std::string_view reason = status["reason"].View();
  Reason ours = Reason::kFailed;
  if (reason == "DeadlineExceeded") ours = Reason::kDeadlineExceeded;
  if (deployment == "ValidationFailed" || reason == "SubmissionFailed")
    ours = Reason::kFailedToStart;
  std::string message = Sentence(status);
  if (message.empty()) {
    message = "jobDeploymentStatus " + CleanText(deployment, kNameBytes) + ", jobStatus " +
              status["jobStatus"].Text(kNameBytes);
  }
  Fail(ours, std::move(message), status["endTime"].Time(), state);
}

// Complete is an end with either jobStatus. ValidationFailed is an end too, for the operator does
// not look at such a RayJob again.
void ReadRayJob(const Reader& object, ObjectState* state) {
  const Reader status = object["status"];
  state->suspended = object["spec"]["suspend"].IsTrue();
  state->start_time = status["startTime"].Time();
  const std::string_view deployment = status["jobDeploymentStatus"].View();
  if (deployment == "Complete" && status["jobStatus"].View() == "SUCCEEDED")
    return Succeed(status["endTime"].Time(), state);
  if (deployment == "Complete" || deployment == "Failed" || deployment == "ValidationFailed")
    return FailRayJob(status, deployment, state);
  Go(deployment == "Running" || status["rayClusterStatus"]["state"].View() == "ready", state);
  const std::int32_t failed = status["failed"].Count();
  if (deployment == "Retrying" || failed > 0)
    state->message = "retried by its operator after " + std::to_string(failed) + " failed tries";
}

// A RayCluster never ends by itself: its operator keeps trying after the state "failed".
void ReadRayCluster(const Reader& object, ObjectState* state) {
  const Reader status = object["status"];
  state->suspended = object["spec"]["suspend"].IsTrue();
  const std::string_view phase = status["state"].View();
  Go(phase == "ready", state);
  state->start_time = status["stateTransitionTimes"]["ready"].Time();
  if (const Reader trouble = ConditionOf(status["conditions"], "ReplicaFailure");
      HoldsTrue(trouble)) {
    state->message = Sentence(trouble);
  } else if (phase == "failed") {
    state->message = status["reason"].Text(kMessageBytes);
  }
}

// --- LeaderWorkerSet ------------------------------------------------------------------------

// Suspended means 0 replicas. It never ends by itself.
void ReadLeaderWorkerSet(const Reader& object, ObjectState* state) {
  const std::int32_t groups = object["spec"]["replicas"].Count(1);
  state->suspended = groups == 0;
  const Reader status = object["status"];
  const Reader available = ConditionOf(status["conditions"], "Available");
  Go(groups > 0 && status["readyReplicas"].Count() >= groups, state);
  // With 0 replicas the condition is true as well, so it counts only while running.
  if (HoldsTrue(available) && state->phase == RemotePhase::kRunning)
    state->start_time = Since(available);
}

// The kinds by name, with their functions.
struct KindReader {
  std::string_view kind;
  void (*read)(const Reader& object, ObjectState* state);
};
constexpr std::array<KindReader, 6> kReaders = {{
    {"Job", ReadJob},
    {"JobSet", ReadJobSet},
    {"PyTorchJob", ReadPyTorchJob},
    {"RayJob", ReadRayJob},
    {"RayCluster", ReadRayCluster},
    {"LeaderWorkerSet", ReadLeaderWorkerSet},
}};

}  // namespace

Reader ConditionOf(const Reader& conditions, std::string_view type) {
  Reader found(nullptr);
  conditions.Each([&](const Reader& condition) {
    if (condition["type"].View() == type) found = condition;
  });
  return found;
}

void ReadKindStatus(const Reader& object, ObjectState* state) {
  for (const KindReader& reader : kReaders) {
    if (reader.kind == state->kind->kind) return reader.read(object, state);
  }
  MUSTER_CHECK(false);
}

}  // namespace muster::k8s
