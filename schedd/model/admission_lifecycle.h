// What happens to a workload on its way through admission, as changes of its record: reservation,
// admission checks, eviction and the way back to the queue, with the reasons and sentences of
// rules A48 to A57 and A59. Pure; each function changes the record it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/model/queues.h"

namespace muster {

/// Sets a condition in place, or adds it. Its transition time moves only if its status does.
void SetCondition(JobRecord* job, std::string_view type, bool status, std::string_view reason,
                  std::string_view message, WallTime now);

/// The admission state of a record, never null; empty if it has none.
const AdmissionState& StateOf(const JobRecord& job);
/// Replaces the admission state by a changed copy.
template <class Change>
void ChangeState(JobRecord* job, const Change& change) {
  auto state = std::make_shared<AdmissionState>(StateOf(*job));
  change(state.get());
  job->admission_state = std::move(state);
}

/// Name of the reason of QuotaReserved=False: itself, or "Pending" with the gate
/// UnadmittedWorkloadsObservability off.
std::string_view WaitingReasonName(Reason reason, const AdmissionSettings& settings);

// Reservation and admission.

/// Quota is reserved: QuotaReserved=True; what tells of an earlier end (Evicted, Preempted,
/// BlockedOnPreemptionGates) turns False, "Previously: ...".
void ReserveQuota(JobRecord* job, AdmissionPtr admission, WallTime now);
/// It waits: QuotaReserved=False, and so not admitted.
void MarkWaiting(JobRecord* job, Reason reason, const std::string& message,
                 const AdmissionSettings& settings, WallTime now);
/// Its reservation ends: as MarkWaiting, and the admission is cleared.
void ReleaseQuota(JobRecord* job, Reason reason, const std::string& message,
                  const AdmissionSettings& settings, WallTime now);
/// Makes the condition Admitted follow from reservation, checks and open topology requests. When it
/// stops being admitted the time that it was counts as past execution. With the gate
/// UnadmittedWorkloadsObservability off, a workload that was not admitted before does not say why.
/// False if nothing changed.
bool SyncAdmitted(JobRecord* job, const AdmissionSettings& settings, WallTime now);
/// The checks that a workload with this admission must pass: those for all flavors, and those for a
/// flavor that it was assigned (null: the former only; KEP-1432).
std::vector<std::string> RequiredChecks(const ClusterQueue& queue, const Admission* admission);
/// True if status.admissionChecks lists all of `names`.
bool HasAllChecks(const JobRecord& job, const std::vector<std::string>& names);
/// Makes status.admissionChecks list exactly `names`; new ones start Pending. False if it did.
bool SyncChecks(JobRecord* job, const std::vector<std::string>& names, WallTime now);
/// True if some check is in `state`.
bool AnyCheckIn(const JobRecord& job, CheckState state);
bool AllChecksReady(const JobRecord& job);
/// True if some pod set's placement was put off until its checks are ready.
bool TopologyIsPending(const JobRecord& job);
/// True if pods of this assignment stand on a node that is listed as unhealthy for the job.
bool StandsOnUnhealthyNode(const JobRecord& job, const TopologyAssignment& topology);
/// The same of any pod set of its admission. Unhealthy nodes that none of its pods uses count for
/// nothing (KEP-2724).
bool HasPodsOnUnhealthyNode(const JobRecord& job);
/// True if it holds quota and what is open of its placement can be decided now: a delayed topology
/// request whose checks are ready, or a failed node to replace (rule A17).
bool NeedsSecondPass(const JobRecord& job);

// Eviction and the way back.

/// What an eviction is for. `cause` is the second word of a deactivation, "" otherwise.
struct EvictionNote {
  std::string reason, cause, message;
};

/// First step of an eviction (rule A50): Evicted=True, checks reset, failed nodes forgotten,
/// preemption gates closed, counted. The quota stays held until ReleaseQuota.
void MarkEvicted(JobRecord* job, const EvictionNote& note, WallTime now);
/// With it, for a victim: Preempted=True with the reason that the search gave.
void MarkPreempted(JobRecord* job, Reason reason, const std::string& message, WallTime now);
/// "Workload requires preemption, but it's gated" (KEP-8303).
void MarkPreemptionGated(JobRecord* job, WallTime now);
/// Second step, when its pods are gone: the quota is released and Requeued says whether it may be
/// tried at once (Preempted, NodeFailures) or waits for its own cause to end.
void ReturnToQueue(JobRecord* job, const AdmissionSettings& settings, WallTime now);
/// Requeued=True: "BackoffFinished", "Reactivated", "ClusterQueueRestarted", ...
void MarkRequeued(JobRecord* job, std::string_view reason, const std::string& message,
                  WallTime now);

/// "Evicted due to AdmissionCheck in Retry state: ..." for the checks that ask for it; nullopt if
/// none does. MarkEvicted then resets them.
std::optional<EvictionNote> RetryEviction(const JobRecord& job);
/// When the checks that ask for a retry want it at the earliest; nullopt if they name no delay.
std::optional<WallTime> RetryAt(const JobRecord& job);
/// "DeactivatedDueToAdmissionCheck" for checks that reject it; nullopt if none does.
std::optional<EvictionNote> RejectionEviction(const JobRecord& job);
/// The eviction of a workload whose spec.active turned false: by a user, or for the cause that
/// deactivated it.
EvictionNote DeactivationEviction(const JobRecord& job);
/// Moves requeueAt forward, never back.
void DelayRequeue(JobRecord* job, WallTime until);

// Time limits.

/// When a workload that runs exceeds its maximum execution time; nullopt without limit or
/// admission.
std::optional<WallTime> ExecutionDeadline(const JobRecord& job);
/// Until when its pods must be ready, and for what it is evicted then ("WaitForStart" or
/// "WaitForRecovery"); nullopt if nothing runs out.
struct PodsReadyDeadline {
  WallTime at;
  std::string cause;
};
std::optional<PodsReadyDeadline> PodsReadyBy(const JobRecord& job,
                                             const WaitForPodsReady& settings);
/// The eviction at that deadline: counts the try and either deactivates (limit exceeded) or delays
/// the next try by `backoff_us` (core::BackoffMicros).
EvictionNote PodsReadyEviction(JobRecord* job, const WaitForPodsReady& settings,
                               const PodsReadyDeadline& deadline, std::int64_t backoff_us,
                               WallTime now);

}  // namespace muster
