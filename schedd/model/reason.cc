// The name of each reason. The last entry gives kNone the name "".
#include "schedd/model/reason.h"

#include <array>
#include <utility>

namespace muster {
namespace {

constexpr std::array<std::pair<Reason, std::string_view>, 66> kNames = {{
    {Reason::kPendingEvaluation, "PendingEvaluation"},
    {Reason::kNoMatchingFlavor, "NoMatchingFlavor"},
    {Reason::kExceedsMaxQuota, "ExceedsMaxQuota"},
    {Reason::kWaitingForQuota, "WaitingForQuota"},
    {Reason::kTopologyPlacementFailed, "TopologyPlacementFailed"},
    {Reason::kWaitingForPreemptedWorkloads, "WaitingForPreemptedWorkloads"},
    {Reason::kWaitingForPodsReady, "WaitingForPodsReady"},
    {Reason::kAdmissionGated, "AdmissionGated"},
    {Reason::kDeactivated, "Deactivated"},
    {Reason::kMisconfigured, "Misconfigured"},
    {Reason::kSuspended, "Suspended"},
    {Reason::kNoMemberCluster, "NoMemberCluster"},
    {Reason::kWaitingForCapacity, "WaitingForCapacity"},
    {Reason::kHeldByUser, "HeldByUser"},
    {Reason::kBackoff, "Backoff"},
    {Reason::kQuotaReserved, "QuotaReserved"},
    {Reason::kAdmitted, "Admitted"},
    {Reason::kDispatching, "Dispatching"},
    {Reason::kRunning, "Running"},
    {Reason::kSucceeded, "Succeeded"},
    {Reason::kFailed, "Failed"},
    {Reason::kCancelled, "Cancelled"},
    {Reason::kDeadlineExceeded, "DeadlineExceeded"},
    {Reason::kBackoffLimitExceeded, "BackoffLimitExceeded"},
    {Reason::kPodFailurePolicy, "PodFailurePolicy"},
    {Reason::kFailedToStart, "FailedToStart"},
    {Reason::kLost, "Lost"},
    {Reason::kRequeued, "Requeued"},
    {Reason::kClusterQueueStopped, "ClusterQueueStopped"},
    {Reason::kLocalQueueStopped, "LocalQueueStopped"},
    {Reason::kPreempted, "Preempted"},
    {Reason::kInClusterQueue, "InClusterQueue"},
    {Reason::kInCohortReclamation, "InCohortReclamation"},
    {Reason::kInCohortFairSharing, "InCohortFairSharing"},
    {Reason::kInCohortReclaimWhileBorrowing, "InCohortReclaimWhileBorrowing"},
    {Reason::kPodsReadyTimeout, "PodsReadyTimeout"},
    {Reason::kAdmissionCheck, "AdmissionCheck"},
    {Reason::kNodeFailures, "NodeFailures"},
    {Reason::kFlavorMigration, "FlavorMigration"},
    {Reason::kRequeuingLimitExceeded, "RequeuingLimitExceeded"},
    {Reason::kMaximumExecutionTimeExceeded, "MaximumExecutionTimeExceeded"},
    {Reason::kWorkloadSliceReplaced, "WorkloadSliceReplaced"},
    {Reason::kEvictedOnMember, "EvictedOnMember"},
    {Reason::kClusterDrained, "ClusterDrained"},
    {Reason::kClusterTainted, "ClusterTainted"},
    {Reason::kPlacementEviction, "PlacementEviction"},
    {Reason::kRebalanced, "Rebalanced"},
    {Reason::kMemberEvicted, "MemberEvicted"},
    {Reason::kOutOfMemory, "OutOfMemory"},
    {Reason::kStarting, "Starting"},
    {Reason::kDependency, "Dependency"},
    {Reason::kDependencyNeverSatisfied, "DependencyNeverSatisfied"},
    {Reason::kBeginTime, "BeginTime"},
    {Reason::kHeldByAdmin, "HeldByAdmin"},
    {Reason::kArrayTaskLimit, "ArrayTaskLimit"},
    {Reason::kPartitionTimeLimit, "PartitionTimeLimit"},
    {Reason::kPartitionNodeLimit, "PartitionNodeLimit"},
    {Reason::kPartitionMemoryLimit, "PartitionMemoryLimit"},
    {Reason::kPartitionDown, "PartitionDown"},
    {Reason::kPartitionInactive, "PartitionInactive"},
    {Reason::kHeldAfterRequeue, "HeldAfterRequeue"},
    {Reason::kRequeueLimit, "RequeueLimit"},
    {Reason::kDeadlineMissed, "DeadlineMissed"},
    {Reason::kClientGone, "ClientGone"},
    {Reason::kSuspendedByAdmin, "SuspendedByAdmin"},
    {Reason::kNone, ""},
}};

}  // namespace

std::string_view ReasonName(Reason reason) {
  for (const auto& [value, name] : kNames) {
    if (value == reason) return name;
  }
  return "";
}

Reason ReasonOf(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return Reason::kNone;
}

}  // namespace muster
