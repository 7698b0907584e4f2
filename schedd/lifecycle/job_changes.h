// Job changes: how a record follows from another one. Pure functions; every state change of a job
// is one of these, checked against the transition table (schedd/model/lifecycle), with its
// conditions and reasons in Kueue's words (rule A59).
//
// Each returns a fresh record that nobody else holds yet; the caller stamps its resource version.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/lifecycle.h"
#include "schedd/model/queues.h"

namespace muster::changes {

using Draft = std::shared_ptr<JobRecord>;

/// Quota reserved and a member chosen. The condition Admitted says whether it may be dispatched at
/// once; `checks` are those that it must pass.
Draft Reserved(const JobRecord& job, AdmissionPtr admission, const std::string& cluster,
               const std::vector<std::string>& checks, const AdmissionSettings& settings,
               WallTime now);
/// A reserved job gives its quota back without an eviction: its queue takes nothing any more.
Draft Unreserved(const JobRecord& job, Reason reason, const std::string& message,
                 const AdmissionSettings& settings, WallTime now);
/// Why it runs where it does, as its condition Placed: the sentence of its placement. "": none
/// governs it, and it has no such condition. Also drops members that are no longer avoided.
void SayWhyItRunsThere(JobRecord* job, const std::string& sentence, WallTime now);
/// An attempt did not start on the member that it is on, which is avoided for a while
/// (rule P16).
void AvoidMember(JobRecord* job, WallTime now);
/// The next attempt of a reserved job begins.
void Dispatch(JobRecord* job, WallTime now);
/// Its pods run.
Draft Started(const JobRecord& job, const Observation& seen, WallTime now);
/// Takes over pod counts and what the member says of its pods; null if nothing changed.
Draft Progressed(const JobRecord& job, const Observation& seen, WallTime now);
/// Pods that will not run any more give their quota back; never fewer than the record has (KEP-78).
/// Null if there are no more of them.
Draft Reclaimed(const JobRecord& job, const Observation& seen);
/// Ends for good by kSucceed, kFail or kCancel. `seen` may be null: the member said nothing of the
/// end.
Draft Ended(const JobRecord& job, JobEvent how, Reason reason, const std::string& message,
            const Observation* seen, WallTime now);
/// Second step of an eviction, when no pods are left: back to Pending (or Held), quota released. If
/// nothing else keeps it from being tried, it waits until `not_before`.
Draft BackToPending(const JobRecord& job, WallTime not_before, const AdmissionSettings& settings,
                    WallTime now);
/// What kept a waiting job from being tried is over.
Draft Requeued(const JobRecord& job, std::string_view reason, const std::string& message,
               WallTime now);
/// The same of its back-off.
Draft BackoffFinished(const JobRecord& job, WallTime now);
/// An attempt is being ended on its member: why, until it is proven gone.
Draft Stopping(const JobRecord& job, Reason reason, const std::string& message);
/// Its attempt cannot go on, or not be ended, because of its member: `why` after the member's name.
/// Null if the record says so already.
Draft Stuck(const JobRecord& job, const std::string& why);
/// Why an attempt is being ended, without what its member says to it.
std::string StopText(const JobRecord& job);
Draft Held(const JobRecord& job);
/// The condition of a script that was held while it ran: the hold counts when it is requeued.
inline constexpr std::string_view kHeldCondition = "Held";
Draft Released(const JobRecord& job);
/// A waiting job's reason; null if it is what the record says already.
Draft Waiting(const JobRecord& job, Reason reason, const std::string& message,
              const AdmissionSettings& settings, WallTime now);
/// Reason and message of a job that waits and was not looked at yet.
void SayWhyItWaits(JobRecord* job);
/// True if its ClusterQueue may try it: pending, active, not gated, and not tried by variants
/// (rule A11).
bool MayBeTried(const JobRecord& job);
/// The same of a job that is queued as itself: the record of an array's waiting tasks is tried by
/// entries that stand for single tasks.
bool MayQueue(const JobRecord& job);
/// True if a queue that has `before` must hear of `after`.
bool OtherToQueue(const JobRecord& before, const JobRecord& after);

/// True while it is evicted and its attempt is being stopped.
bool IsRequeuing(const JobRecord& job);
/// True while its attempt is being stopped for good.
bool IsCancelling(const JobRecord& job);

/// The accounting record of the attempt that `before` was running and `after` no longer runs.
AttemptRecord ClosedAttempt(const JobRecord& before, const JobRecord& after, WallTime now);

}  // namespace muster::changes
