// Observe: an object and its pods together.
#include <algorithm>

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"

namespace muster::k8s {
namespace {

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

// The pod that tells best why the attempt fails; null if none failed.
const PodState* Culprit(std::span<const PodState> pods) {
  const auto first = std::min_element(pods.begin(), pods.end(), FailedBefore);
  if (first == pods.end()) return nullptr;
  const bool failed =
      first->phase == PodPhase::kFailed || first->failure || first->disruption != Disruption::kNone;
  return failed ? &*first : nullptr;
}

std::string About(const PodState& pod) {
  return "pod " + pod.name + (pod.message.empty() ? " failed" : ": " + pod.message);
}

// The first pod in their order that has something to say of why it does not run.
const PodState* Waiting(std::span<const PodState> pods) {
  const PodState* first = nullptr;
  for (const PodState& pod : pods) {
    const bool live = pod.phase == PodPhase::kPending || pod.phase == PodPhase::kRunning;
    if (!live || pod.gone || pod.message.empty()) continue;
    if (first == nullptr || PodBefore(pod, *first)) first = &pod;
  }
  return first;
}

void Append(std::string_view text, std::string* message) {
  if (!message->empty()) *message += "; ";
  *message = CleanText(message->append(text), kMessageBytes);
}

// A failure that no container of the job is guilty of is told from its own.
Reason ReasonOfDisruption(Disruption disruption, Reason own) {
  const bool general = own == Reason::kFailed || own == Reason::kBackoffLimitExceeded ||
                       own == Reason::kPodFailurePolicy;
  if (!general || disruption == Disruption::kNone) return own;
  return disruption == Disruption::kNodeLost ? Reason::kNodeFailures : Reason::kEvictedOnMember;
}

// A failure that memory alone explains is told from the program's own; a success that came although
// a process was killed is told too.
void TellMemory(std::span<const PodState> pods, Observation* seen) {
  const bool ended_well = seen->phase == RemotePhase::kSucceeded;
  const bool general = ended_well || seen->reason == Reason::kNone ||
                       seen->reason == Reason::kFailed ||
                       seen->reason == Reason::kBackoffLimitExceeded ||
                       seen->reason == Reason::kPodFailurePolicy;
  if (!general) return;
  for (const PodState& pod : pods) {
    const bool counts = ended_well ? pod.phase == PodPhase::kSucceeded
                                   : pod.phase == PodPhase::kFailed || pod.failure.has_value();
    if (counts && pod.out_of_memory) seen->reason = Reason::kOutOfMemory;
  }
}

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
