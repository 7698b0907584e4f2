// Job changes: how a record follows from another one. Pure functions; every state change of a job
// is one of these, checked against the transition table (schedd/model/lifecycle), with its
// conditions and reasons in Kueue's words (kueue.md 3.1).
//
// Each returns a fresh record that nobody else holds yet; the caller stamps its resource version.
#pragma once

#include <memory>
#include <string>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/lifecycle.h"

namespace muster::changes {

using Draft = std::shared_ptr<JobRecord>;

/// Quota reserved and a member chosen: the next attempt begins.
Draft Admitted(const JobRecord& job, AdmissionPtr admission, const std::string& cluster,
               WallTime now);
/// Its pods run.
Draft Started(const JobRecord& job, const Observation& seen, WallTime now);
/// Takes over pod counts; null if none changed.
Draft Progressed(const JobRecord& job, const Observation& seen);
/// Ends for good by kSucceed, kFail or kCancel. `seen` may be null: the member said nothing of the
/// end.
Draft Ended(const JobRecord& job, JobEvent how, Reason reason, const std::string& message,
            const Observation* seen, WallTime now);
/// The attempt ended without an end of the job: back to Pending (or Held) by kRequeue or kEvict.
Draft BackToPending(const JobRecord& job, JobEvent how, WallTime now);
/// An attempt is being ended on its member: why, until it is proven gone.
Draft Stopping(const JobRecord& job, Reason reason, const std::string& message);
Draft Held(const JobRecord& job);
Draft Released(const JobRecord& job);
/// A waiting job's reason; null if it is what the record says already.
Draft Waiting(const JobRecord& job, Reason reason, const std::string& message);

/// True while the job's attempt is being stopped in order to run again.
bool IsRequeuing(const JobRecord& job);
/// True while its attempt is being stopped for good.
bool IsCancelling(const JobRecord& job);

/// The accounting record of the attempt that `before` was running and `after` no longer runs.
AttemptRecord ClosedAttempt(const JobRecord& before, const JobRecord& after, WallTime now);

}  // namespace muster::changes
