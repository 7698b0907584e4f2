// The closed set of reasons that Muster gives for a state, with Kueue's names where Kueue has one
// (rule A59) and Muster's own elsewhere. Local members store the numbers: new reasons go to the
// end.
#pragma once

#include <string_view>

#include "schedd/base/result.h"

namespace muster {

enum class Reason : std::uint16_t {
  kNone = 0,
  // Waiting for quota (QuotaReserved=False).
  kPendingEvaluation,
  kNoMatchingFlavor,
  kExceedsMaxQuota,
  kWaitingForQuota,
  kTopologyPlacementFailed,
  kWaitingForPreemptedWorkloads,
  kWaitingForPodsReady,
  kAdmissionGated,
  kDeactivated,
  kMisconfigured,
  kSuspended,
  // Waiting for a member cluster.
  kNoMemberCluster,     // no member could ever hold the job
  kWaitingForCapacity,  // a member could hold the job, but none has the room now
  // Gates.
  kHeldByUser,
  kBackoff,
  // Progress.
  kQuotaReserved,
  kAdmitted,
  kDispatching,
  kRunning,
  // Ends.
  kSucceeded,
  kFailed,
  kCancelled,
  kDeadlineExceeded,
  kBackoffLimitExceeded,
  kPodFailurePolicy,
  kFailedToStart,
  kLost,
  kRequeued,
  kClusterQueueStopped,
  kLocalQueueStopped,
  // Evictions, and why a job was preempted (Evicted, Preempted: rules A37, A50).
  kPreempted,
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortFairSharing,
  kInCohortReclaimWhileBorrowing,
  kPodsReadyTimeout,
  kAdmissionCheck,
  kNodeFailures,
  kFlavorMigration,
  kRequeuingLimitExceeded,
  kMaximumExecutionTimeExceeded,
  kWorkloadSliceReplaced,
  // An end of an attempt that came from its member.
  kEvictedOnMember,  // the member removed its pods: eviction, preemption or deletion there
  // Evictions off a member (rules P30, P32).
  kClusterDrained,
  kClusterTainted,
  kPlacementEviction,  // an eviction object of its placement
  kRebalanced,         // to a member that its placement scores higher
  kMemberEvicted,      // the member's own queue took the job back (dispatch modes)
  // An end that takes the place of any other reason for the same end.
  kOutOfMemory,  // a process of the attempt was killed for want of memory
  // Progress, again.
  kStarting,  // its member has the attempt and says why it does not run yet
  // Waits of batch scripts (rules B31 to B34).
  kDependency,
  kDependencyNeverSatisfied,
  kBeginTime,         // --begin, or the wait after a requeue
  kHeldByAdmin,       // only an operator may release it
  kArrayTaskLimit,    // as many tasks of its array run as %N allows
  kPartitionTimeLimit,
  kPartitionNodeLimit,
  kPartitionMemoryLimit,
  kPartitionDown,
  kPartitionInactive,
  kHeldAfterRequeue,  // scontrol requeuehold
  kRequeueLimit,      // requeued too often: held
  // Ends of batch scripts.
  kDeadlineMissed,    // --deadline: it could not end in time
  kClientGone,        // the client of an allocation went away
  // While it runs.
  kSuspendedByAdmin,  // scontrol suspend
};

/// CamelCase name ("WaitingForQuota"); "" for kNone.
std::string_view ReasonName(Reason reason);
/// The inverse; kNone for an unknown name.
Reason ReasonOf(std::string_view name);

}  // namespace muster
