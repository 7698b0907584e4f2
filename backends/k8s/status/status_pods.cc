// ReadPod: the state of a pod, why it waits, and whether it failed by itself or was taken away.
//
// A failed pod has the exit code of its earliest container that ended with another code than 0,
// init containers included, in its present or last state. Exit codes 129 to 192 are signals. A pod
// counts as taken away by the condition DisruptionTarget (KEP-3329), or by the pod's own reason if
// an older kubelet or node controller sets only that.
#include <algorithm>
#include <array>
#include <tuple>

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"
#include "backends/k8s/status/status_kinds.h"
#include "schedd/model/member_labels.h"

namespace muster::k8s {
namespace {

// At most so many container names are kept per pod.
constexpr std::size_t kContainers = 64;
// Shells and container runtimes report signal N as exit code 128 + N.
constexpr std::int32_t kSignalBase = 128;
constexpr std::int32_t kSignals = 64;

constexpr std::array<std::string_view, 3> kIndexLabels = {
    "batch.kubernetes.io/job-completion-index",  // Job, and the jobs of a JobSet
    "training.kubeflow.org/replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
};

// The pod's index by its kind's label; -1 if it has none. A Job's index is an annotation before
// Kubernetes 1.28.
std::int32_t IndexOf(const Reader& metadata) {
  for (const std::string_view key : kIndexLabels) {
    for (const char* where : {"labels", "annotations"}) {
      const auto index = NumberIn(metadata[where][key].View());
      if (index && *index >= 0 && *index <= INT32_MAX) return static_cast<std::int32_t>(*index);
    }
  }
  return -1;
}

PodPhase PhaseOf(std::string_view phase) {
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  return phase == "Failed" ? PodPhase::kFailed : PodPhase::kPending;
}

// By what the pod is being taken away: by its condition DisruptionTarget (KEP-3329), else by its
// reason.
Disruption DisruptionOf(const Reader& status) {
  const Reader target = ConditionOf(status["conditions"], "DisruptionTarget");
  if (HoldsTrue(target)) {
    const std::string_view by = target["reason"].View();
    if (by == "PreemptionByScheduler") return Disruption::kPreempted;
    if (by == "DeletionByTaintManager" || by == "DeletionByPodGC") return Disruption::kNodeLost;
    // EvictionByEvictionAPI, TerminationByKubelet, and reasons that later versions may add.
    return Disruption::kEvicted;
  }
  // Without the condition: the pod's reason, which a kubelet or a node controller sets.
  const std::string_view reason = status["reason"].View();
  if (reason == "NodeLost" || reason == "NodeShutdown" || reason == "Terminated" ||
      reason == "Shutdown") {
    return Disruption::kNodeLost;
  }
  if (reason == "Preempting" || reason == "Preempted") return Disruption::kPreempted;
  // The node that the pod was bound to has refused it.
  const bool refused = reason.starts_with("OutOf") || reason == "UnexpectedAdmissionError" ||
                       reason == "NodeAffinity";
  return reason == "Evicted" || refused ? Disruption::kEvicted : Disruption::kNone;
}

// Looks through one list of container statuses for the earliest end with a code other than 0.
void FindFailure(const Reader& statuses, std::optional<ContainerFailure>* first) {
  statuses.Each([&](const Reader& container) {
    for (const char* when : {"lastState", "state"}) {
      const Reader ended = container[when]["terminated"];
      const auto code = ended["exitCode"].Integer();
      if (!code || *code == 0) continue;
      const WallTime time = ended["finishedAt"].Time();
      if (*first && !(time.set() && time < (*first)->time)) continue;
      ContainerFailure failure;
      failure.container = container["name"].Text(kNameBytes);
      failure.reason = ended["reason"].Text(kNameBytes);
      failure.exit_code = static_cast<std::int32_t>(std::clamp<std::int64_t>(*code, -255, 255));
      if (failure.exit_code > kSignalBase && failure.exit_code <= kSignalBase + kSignals)
        failure.exit_signal = failure.exit_code - kSignalBase;
      failure.time = time;
      *first = std::move(failure);
    }
  });
}

// Whether the latest end of a container has the reason OOMKilled.
bool LostMemory(const Reader& statuses) {
  bool lost = false;
  statuses.Each([&](const Reader& container) {
    Reader ended = container["state"]["terminated"];
    if (!ended.present()) ended = container["lastState"]["terminated"];
    lost = lost || ended["reason"].View() == "OOMKilled";
  });
  return lost;
}

// "Reason: message", either of which may be empty.
std::string Joined(std::string_view reason, std::string_view message) {
  std::string text(reason);
  if (!reason.empty() && !message.empty()) text += ": ";
  return CleanText(text.append(message), kMessageBytes);
}

// Why a container waits; "" for the stages that every pod passes through.
std::string WaitingOf(const Reader& statuses) {
  std::string why;
  statuses.Each([&](const Reader& container) {
    const Reader waiting = container["state"]["waiting"];
    const std::string_view reason = waiting["reason"].View();
    if (!why.empty() || reason.empty() || reason == "ContainerCreating" ||
        reason == "PodInitializing") {
      return;
    }
    why = "container " + container["name"].Text(kNameBytes) + ": " +
          Joined(reason, waiting["message"].View());
  });
  return why;
}

// Why a pod failed or was taken away: by its own reason, its condition, or its failed container.
std::string MessageOfEnd(const PodState& pod, const Reader& status) {
  const std::string of_pod = Joined(status["reason"].View(), status["message"].View());
  if (!of_pod.empty()) return of_pod;
  const Reader target = ConditionOf(status["conditions"], "DisruptionTarget");
  if (pod.disruption != Disruption::kNone)
    return Joined(target["reason"].View(), target["message"].View());
  if (!pod.failure) return "";
  std::string text = "container " + pod.failure->container + " ended with exit code " +
                     std::to_string(pod.failure->exit_code);
  if (!pod.failure->reason.empty() && pod.failure->reason != "Error")
    text += " (" + pod.failure->reason + ")";
  return text;
}

// The sentence about a pod: why it failed, is not scheduled, or waits; "" if nothing is wrong.
std::string MessageOf(const PodState& pod, const Reader& status) {
  if (pod.phase == PodPhase::kSucceeded) return "";
  if (pod.phase == PodPhase::kFailed) return MessageOfEnd(pod, status);
  const Reader scheduled = ConditionOf(status["conditions"], "PodScheduled");
  if (scheduled["status"].View() == "False")
    return Joined(scheduled["reason"].View(), scheduled["message"].View());
  std::string why = WaitingOf(status["initContainerStatuses"]);
  if (why.empty()) why = WaitingOf(status["containerStatuses"]);
  return why.empty() && pod.disruption != Disruption::kNone ? MessageOfEnd(pod, status) : why;
}

WallTime LastEnd(const Reader& statuses) {
  WallTime last;
  statuses.Each([&](const Reader& container) {
    last = std::max(last, container["state"]["terminated"]["finishedAt"].Time());
  });
  return last;
}

// The order of FailedBefore: failed by itself, taken away, not failed; then the time, an unknown
// one last; then the name.
auto RankOf(const PodState& pod) {
  const bool failed = pod.phase == PodPhase::kFailed || pod.failure.has_value();
  const bool taken = pod.disruption != Disruption::kNone;
  WallTime time = pod.failure ? pod.failure->time : pod.end_time;
  if (!time.set()) time.us = INT64_MAX;
  return std::tuple(taken ? 1 : failed ? 0 : 2, time, std::string_view(pod.name));
}

}  // namespace

PodState ReadPod(const json::object& object) {
  const Reader root(object);
  const Reader metadata = root["metadata"], status = root["status"];
  PodState pod;
  pod.attempt = ReadAttemptLabels(object);
  pod.ns = metadata["namespace"].Text(kNameBytes);
  pod.name = metadata["name"].Text(kNameBytes);
  pod.uid = metadata["uid"].Text(kNameBytes);
  pod.node = root["spec"]["nodeName"].Text(kNameBytes);
  pod.pod_set = metadata["labels"][kPodSetLabel].Text(kNameBytes);
  pod.index = IndexOf(metadata);
  pod.phase = PhaseOf(status["phase"].View());
  pod.ready = HoldsTrue(ConditionOf(status["conditions"], "Ready"));
  pod.deleting = metadata["deletionTimestamp"].present();
  pod.disruption = DisruptionOf(status);
  FindFailure(status["initContainerStatuses"], &pod.failure);
  FindFailure(status["containerStatuses"], &pod.failure);
  pod.out_of_memory =
      LostMemory(status["initContainerStatuses"]) || LostMemory(status["containerStatuses"]);
  pod.start_time = status["startTime"].Time();
  if (pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed)
    pod.end_time = LastEnd(status["containerStatuses"]);
  pod.message = MessageOf(pod, status);
  for (const char* list : {"containers", "initContainers"}) {
    root["spec"][list].Each([&](const Reader& container) {
      if (pod.containers.size() < kContainers)
        pod.containers.push_back(container["name"].Text(kNameBytes));
    });
  }
  return pod;
}

bool PodBefore(const PodState& a, const PodState& b) {
  return std::tie(a.pod_set, a.index, a.name) < std::tie(b.pod_set, b.index, b.name);
}

bool FailedBefore(const PodState& a, const PodState& b) { return RankOf(a) < RankOf(b); }

PodStatus ToPodStatus(const PodState& pod) {
  static constexpr std::array<const char*, 4> kPhases = {"Pending", "Running", "Succeeded",
                                                         "Failed"};
  PodStatus status;
  status.name = pod.name;
  status.pod_set = pod.pod_set;
  status.phase = kPhases[static_cast<std::size_t>(pod.phase)];
  status.message = pod.message;
  status.node = pod.node;
  status.index = pod.index;
  status.start_time = pod.start_time;
  status.end_time = pod.end_time;
  if (pod.phase == PodPhase::kSucceeded) status.exit_code = 0;
  if (pod.phase == PodPhase::kFailed && pod.failure) {
    status.exit_code = pod.failure->exit_code;
    status.exit_signal = pod.failure->exit_signal;
  }
  return status;
}

}  // namespace muster::k8s
