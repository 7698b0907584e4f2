// Which workloads may wait in a queue (rule A11): first the workload itself (EntryGate), then its
// LocalQueue, then its ClusterQueue. The order matters: a workload that holds quota may wait
// nowhere, even if its queue is gone.
#include "schedd/core/queue/queue_entry.h"

#include "schedd/model/admission_lifecycle.h"

namespace muster::core {

std::optional<GateVerdict> EntryGate(const JobRecord& job) {
  const AdmissionState& state = StateOf(job);
  if (IsTerminal(job.state) || IsTrue(job, "Finished")) {
    return GateVerdict{Reason::kSucceeded, "The workload has finished"};
  }
  if (IsTrue(job, "QuotaReserved") || HoldsQuota(job.state)) {
    return GateVerdict{Reason::kQuotaReserved, "The workload holds quota"};
  }
  if (!state.active) return GateVerdict{Reason::kDeactivated, "The workload is deactivated"};
  if (!state.admission_gated_by.empty()) {
    return GateVerdict{Reason::kAdmissionGated,
                       "Admission is gated by: " + state.admission_gated_by};
  }
  const Condition* reserved = FindCondition(job, "QuotaReserved");
  // Three ways to be on hold: Kueue's reason OnHold, a pod group that waits for replacement pods,
  // and a job that its user suspended.
  const bool on_hold = reserved != nullptr && reserved->reason == "OnHold";
  if (on_hold || IsTrue(job, "WaitForReplacementPods") || job.suspended_by_user) {
    return GateVerdict{Reason::kHeldByUser, "The workload is on hold"};
  }
  return std::nullopt;
}

QueueEntry CheckEntry(const ConfigView& config, const AdmissionSettings& settings,
                      const JobRecord& job) {
  if (EntryGate(job)) return QueueEntry::kNotAdmissible;
  const auto local = config.local_queues.find({job.ns, job.local_queue});
  if (local == config.local_queues.end() || local->second.stop_policy != StopPolicy::kNone) {
    return QueueEntry::kNoLocalQueue;
  }
  const auto queue = config.cluster_queues.find(local->second.cluster_queue);
  if (queue == config.cluster_queues.end()) return QueueEntry::kNoClusterQueue;
  // Parents of concurrent admission never enter: their variants wait in their place (rule A57).
  const bool is_parent = settings.concurrent_admission && queue->second.concurrent_admission &&
                         StateOf(job).concurrent_parent.empty();
  if (is_parent) return QueueEntry::kNotAdmissible;
  return QueueEntry::kEnters;
}

}  // namespace muster::core
