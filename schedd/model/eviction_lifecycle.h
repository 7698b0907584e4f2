// How a workload loses its admission, as changes of its record: eviction in two steps (marked, then
// requeued when its pods are gone), deactivation, and the time limits that lead to one, with the
// reasons and sentences of rules A50 to A57. Pure; each function changes the record it is given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/model/job.h"

namespace muster {

/// The reason of an eviction. `cause` is the second word of a deactivation, "" otherwise.
struct EvictionNote {
  std::string reason, cause, message;
};

/// First step of an eviction (rule A50): Evicted=True, checks are reset, failed nodes forgotten,
/// preemption gates closed, and the eviction is counted. The quota stays held until ReleaseQuota.
void MarkEvicted(JobRecord* job, const EvictionNote& note, WallTime now);
/// The first step for a victim: also Preempted=True, with the reason that the search for victims
/// gave.
void MarkPreempted(JobRecord* job, Reason reason, const std::string& message, WallTime now);
/// "Workload requires preemption, but it's gated" (KEP-8303).
void MarkPreemptionGated(JobRecord* job, WallTime now);
/// Second step, when its pods are gone: the quota is released, and Requeued says whether the job
/// may be tried at once (Preempted, NodeFailures and the like) or waits until its own cause ends.
void ReturnToQueue(JobRecord* job, const AdmissionSettings& settings, WallTime now);
/// Requeued=True: "BackoffFinished", "Reactivated", "ClusterQueueRestarted", ...
void MarkRequeued(JobRecord* job, std::string_view reason, const std::string& message,
                  WallTime now);

/// "Evicted due to AdmissionCheck in Retry state: ..." for the checks that ask for a retry; nullopt
/// if none does. MarkEvicted then resets them.
std::optional<EvictionNote> RetryEviction(const JobRecord& job);
/// The earliest time at which the checks in state Retry allow another try; nullopt if they name no
/// delay.
std::optional<WallTime> RetryAt(const JobRecord& job);
/// "DeactivatedDueToAdmissionCheck" for checks in state Rejected; nullopt if there is none.
std::optional<EvictionNote> RejectionEviction(const JobRecord& job);
/// The eviction of a workload whose spec.active turned false: by a user, or by Muster for
/// deactivation_cause.
EvictionNote DeactivationEviction(const JobRecord& job);
/// Moves requeueAt forward, never back.
void DelayRequeue(JobRecord* job, WallTime until);

// Time limits.

/// When a running workload exceeds its maximum execution time; nullopt without a limit or an
/// admission.
std::optional<WallTime> ExecutionDeadline(const JobRecord& job);
/// The time by which the pods must be ready, and the cause of the eviction if they are not
/// ("WaitForStart" or "WaitForRecovery").
struct PodsReadyDeadline {
  WallTime at;
  std::string cause;
};
/// nullopt if no such time runs.
std::optional<PodsReadyDeadline> PodsReadyBy(const JobRecord& job,
                                             const WaitForPodsReady& settings);
/// The eviction at that deadline: counts the try, and either deactivates the job (its limit of
/// tries is exceeded) or delays the next try by `backoff_us` (core::BackoffMicros).
EvictionNote PodsReadyEviction(JobRecord* job, const WaitForPodsReady& settings,
                               const PodsReadyDeadline& deadline, std::int64_t backoff_us,
                               WallTime now);

}  // namespace muster
