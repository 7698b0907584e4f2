// The closed set of reasons that Muster gives for a state, with Kueue's names where Kueue has one
// (rule A59) and ours elsewhere. Local members store the numbers: add at the end.
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
  kNoMemberCluster,     // no member could ever hold it
  kWaitingForCapacity,  // members could hold it, none has the room now
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
  // Evictions and what preempted (Evicted, Preempted: rules A37, A50).
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
  // What ended an attempt from outside.
  kEvictedOnMember,  // the member took its pods away: eviction, preemption or deletion there
  // Evictions off a member (rules P30, P32).
  kClusterDrained,
  kClusterTainted,
  kPlacementEviction,  // an eviction object of its placement
  kRebalanced,         // to a member that its placement scores higher
  kMemberEvicted,      // the member's own queue took it back (dispatch modes)
  // An end of its own, whatever else is said of it.
  kOutOfMemory,  // a process of the attempt was killed for want of memory
  // Progress, again.
  kStarting,  // its member has it and tells why it does not run yet
};

/// CamelCase name ("WaitingForQuota"); "" for kNone.
std::string_view ReasonName(Reason reason);
/// The inverse; kNone for an unknown name.
Reason ReasonOf(std::string_view name);

}  // namespace muster
