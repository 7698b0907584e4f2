// Evictions (rule A50): the first of their two steps, for whatever cause: the record is marked and
// holds its quota until its pods are gone. The second one is BackToPending, or the end of a job
// that may not be requeued. Pure.
#pragma once

#include <functional>
#include <string>

#include "schedd/core/plan/plan.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::changes {

/// True if it holds quota and is not on its way out already.
bool MayBeEvicted(const JobRecord& job);

/// Marked, with the reason and the sentence of its condition Evicted, which `mark` sets. One that
/// runs and may not be requeued (rule B17, --no-requeue) is cancelled by it (IsCancelling).
Draft Evicted(const JobRecord& job, Reason reason, const std::function<void(JobRecord*)>& mark);
Draft Evicted(const JobRecord& job, Reason reason, const EvictionNote& note, WallTime now);
/// What a plan decided of its victim. The preemptor's uid and its job's, as text; "" if there is
/// none.
Draft Evicted(const JobRecord& job, const core::Eviction& eviction, const std::string& uid,
              const std::string& job_uid, WallTime now);
/// What the answers of its checks ask for: a rejection deactivates it, a retry sends it back. Null
/// if they ask for neither.
Draft EvictedByChecks(const JobRecord& job, WallTime now);
/// Its pods were not ready by `deadline` (rule A52). `jitter_millionths` as BackoffMicros has it;
/// `elsewhere`: there are other members, and the one it did not start on is avoided.
Draft EvictedUnready(const JobRecord& job, const WaitForPodsReady& rules,
                     const PodsReadyDeadline& deadline, std::int32_t jitter_millionths,
                     bool elsewhere, WallTime now);
/// An ended batch script waits again under its number, from `not_before` on, as one that was
/// stopped for a requeue (rule B25). `by`: who asked for it. `job` must be terminal.
Draft RunAgain(const JobRecord& job, const std::string& by, WallTime not_before,
               const AdmissionSettings& settings, WallTime now);
/// A script that runs is held, or not any more: that counts when it is requeued (rule B25).
/// `by_admin`: only an operator releases it.
Draft HeldWhileRunning(const JobRecord& job, bool by_admin, WallTime now);
Draft ReleasedWhileRunning(const JobRecord& job);
/// Takes it out of the queue, or marks it to be taken off its member, until somebody activates it
/// again. `cause` is why Muster does it; "" if a user did. One that is on its way out already goes
/// on leaving as it does.
Draft Deactivated(const JobRecord& job, const std::string& cause, WallTime now);

}  // namespace muster::changes
