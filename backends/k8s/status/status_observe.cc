// Observe: joins an object with its pods.
//
// Counts come from the object's status where the kind has them, else from the pods. A Pending
// object counts as Running as soon as its pods show it, because the status of a Job lags behind. A
// failed object gets its exit code, and the reason if something outside the job caused it, from the
// pod that explains the failure best; a waiting one gets the message of the first pod that waits.
#include <algorithm>

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"

namespace muster::k8s {
namespace {

// Sums over the pods. Deleted pods that are kept for their failure (`gone`) count for the times
// alone.
struct PodCounts {
  std::int32_t ready = 0, active = 0, succeeded = 0, failed = 0;
  WallTime first_start, last_end;
};

PodCounts CountPods(std::span<const PodState> pods) {
  PodCounts counts;
  for (const PodState& pod : pods) {
    if (pod.start_time.set() &&
        (!counts.first_start.set() || pod.start_time < counts.first_start)) {
      counts.first_start = pod.start_time;
    }
    counts.last_end = std::max(counts.last_end, pod.end_time);
    if (pod.gone) continue;
    const bool live = pod.phase == PodPhase::kPending || pod.phase == PodPhase::kRunning;
    counts.active += live && !pod.deleting;
    counts.ready += pod.phase == PodPhase::kRunning && pod.ready && !pod.deleting;
    counts.succeeded += pod.phase == PodPhase::kSucceeded;
    counts.failed += pod.phase == PodPhase::kFailed;
  }
  return counts;
}

// The pod that explains best why the attempt failed; null if none failed.
const PodState* Culprit(std::span<const PodState> pods) {
  const auto first = std::min_element(pods.begin(), pods.end(), FailedBefore);
  if (first == pods.end()) return nullptr;
  const bool failed =
      first->phase == PodPhase::kFailed || first->failure || first->disruption != Disruption::kNone;
  return failed ? &*first : nullptr;
}

// The pod's name and its message.
std::string About(const PodState& pod) {
  return "pod " + pod.name + (pod.message.empty() ? " failed" : ": " + pod.message);
}

// The first pod, in the order of PodBefore, with a message about why it does not run; null if none.
const PodState* Waiting(std::span<const PodState> pods) {
  const PodState* first = nullptr;
  for (const PodState& pod : pods) {
    const bool live = pod.phase == PodPhase::kPending || pod.phase == PodPhase::kRunning;
    if (!live || pod.gone || pod.message.empty()) continue;
    if (first == nullptr || PodBefore(pod, *first)) first = &pod;
  }
  return first;
}

// Adds a sentence to the message, within its limit.
void Append(std::string_view text, std::string* message) {
  if (!message->empty()) *message += "; ";
  *message = CleanText(message->append(text), kMessageBytes);
}

// The attempt's reason if its pods were taken away. Only general reasons are replaced; a deadline,
// for example, remains.
Reason ReasonOfDisruption(Disruption disruption, Reason own) {
  const bool general = own == Reason::kFailed || own == Reason::kBackoffLimitExceeded ||
                       own == Reason::kPodFailurePolicy;
  if (!general || disruption == Disruption::kNone) return own;
  return disruption == Disruption::kNodeLost ? Reason::kNodeFailures : Reason::kEvictedOnMember;
}

// Sets the reason OutOfMemory if a pod ran out of memory: for a failure with a general reason, and
// for a success whose program went on after the kernel had killed one of its processes.
void TellMemory(std::span<const PodState> pods, Observation* seen) {
  const bool ended_well = seen->phase == RemotePhase::kSucceeded;
  const bool general =
      ended_well || seen->reason == Reason::kNone || seen->reason == Reason::kFailed ||
      seen->reason == Reason::kBackoffLimitExceeded || seen->reason == Reason::kPodFailurePolicy;
  if (!general) return;
  for (const PodState& pod : pods) {
    const bool counts = ended_well ? pod.phase == PodPhase::kSucceeded
                                   : pod.phase == PodPhase::kFailed || pod.failure.has_value();
    if (counts && pod.out_of_memory) seen->reason = Reason::kOutOfMemory;
  }
}

// Sets exit code, reason and message by the pod that explains the failure.
void TellFailure(std::span<const PodState> pods, Observation* seen) {
  const PodState* culprit = Culprit(pods);
  if (culprit == nullptr) return;
  if (culprit->failure) {
    seen->exit_code = culprit->failure->exit_code;
    seen->exit_signal = culprit->failure->exit_signal;
  }
  seen->reason = ReasonOfDisruption(culprit->disruption, seen->reason);
  Append(About(*culprit), &seen->message);
}

}  // namespace

Observation Observe(const ObjectState& object, std::span<const PodState> pods) {
  Observation seen;
  if (object.attempt) {
    seen.key.job_uid = object.attempt->job_uid;
    seen.key.attempt = object.attempt->attempt;
  }
  seen.remote_uid = object.uid;
  seen.object = {std::string(object.kind->api_version), std::string(object.kind->kind), object.ns,
                 object.name};
  seen.held = object.finalizer >= 0;
  seen.deleting = object.deleting;
  seen.sequence = object.sequence;
  seen.phase = object.phase;
  seen.reason = object.reason;
  seen.message = object.message;
  seen.reclaimable = object.reclaimable;
  const PodCounts counts = CountPods(pods);
  seen.ready_pods = object.ready >= 0 ? object.ready : counts.ready;
  seen.active_pods = object.active >= 0 ? object.active : counts.active;
  seen.succeeded_pods = object.succeeded >= 0 ? object.succeeded : counts.succeeded;
  seen.failed_pods = object.failed >= 0 ? object.failed : counts.failed;
  const std::int64_t going = std::int64_t{counts.ready} + counts.succeeded;
  if (seen.phase == RemotePhase::kPending && object.wanted > 0 && going >= object.wanted) {
    seen.phase = RemotePhase::kRunning;
    seen.ready_pods = std::max(seen.ready_pods, counts.ready);
    seen.succeeded_pods = std::max(seen.succeeded_pods, counts.succeeded);
  }
  seen.start_time = object.start_time.set() ? object.start_time : counts.first_start;
  seen.end_time = object.end_time;
  switch (object.phase) {
    case RemotePhase::kSucceeded:
      seen.exit_code = 0;
      TellMemory(pods, &seen);
      break;
    case RemotePhase::kFailed:
      TellFailure(pods, &seen);
      TellMemory(pods, &seen);
      break;
    default:
      if (const PodState* waiting = Waiting(pods)) Append(About(*waiting), &seen.message);
  }
  const bool ended =
      object.phase == RemotePhase::kSucceeded || object.phase == RemotePhase::kFailed;
  if (ended && !seen.end_time.set()) seen.end_time = counts.last_end;
  return seen;
}

}  // namespace muster::k8s
