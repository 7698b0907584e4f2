// What happens to a workload on its way through admission, as changes of its record: reservation,
// admission checks, open topology requests, with the reasons and sentences of rules A48, A49 and
// A59. Pure; each function changes the record it is given. The way back is in eviction_lifecycle.h.
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
/// Removes a condition; no effect without it.
void DropCondition(JobRecord* job, std::string_view type);

/// The admission state of a record; an empty one if the record has none.
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

/// Quota is reserved: QuotaReserved=True. Conditions that told of an earlier end (Evicted,
/// Preempted, BlockedOnPreemptionGates) turn False, "Previously: ...".
void ReserveQuota(JobRecord* job, AdmissionPtr admission, WallTime now);
/// The workload waits: QuotaReserved=False, and so it is not admitted.
void MarkWaiting(JobRecord* job, Reason reason, const std::string& message,
                 const AdmissionSettings& settings, WallTime now);
/// The reservation ends: as MarkWaiting, and the admission is cleared.
void ReleaseQuota(JobRecord* job, Reason reason, const std::string& message,
                  const AdmissionSettings& settings, WallTime now);
/// Sets the condition Admitted from reservation, checks and open topology requests. When a workload
/// stops being admitted, the time for which it was admitted is added to its past execution time.
/// With the gate UnadmittedWorkloadsObservability off, a workload that was not admitted before gets
/// no reason. False if nothing changed.
bool SyncAdmitted(JobRecord* job, const AdmissionSettings& settings, WallTime now);
/// The checks that a workload with this admission must pass: those for all flavors, and those for a
/// flavor that it was assigned (with a null admission only the former; KEP-1432).
std::vector<std::string> RequiredChecks(const ClusterQueue& queue, const Admission* admission);
/// Makes status.admissionChecks list exactly `names`; new ones start Pending. False if the list was
/// so already.
bool SyncChecks(JobRecord* job, const std::vector<std::string>& names, WallTime now);
/// True if some check is in `state`.
bool AnyCheckIn(const JobRecord& job, CheckState state);
bool AllChecksReady(const JobRecord& job);
/// True if the placement of some pod set was delayed until its checks are ready.
bool TopologyIsPending(const JobRecord& job);
/// True if pods of this assignment stand on a node that is listed as unhealthy for the job.
bool StandsOnUnhealthyNode(const JobRecord& job, const TopologyAssignment& topology);
/// The same for any pod set of the admission. Unhealthy nodes that no pod of the job uses do not
/// count (KEP-2724).
bool HasPodsOnUnhealthyNode(const JobRecord& job);
/// True if the job holds quota and the open part of its placement can be decided now: a delayed
/// topology request whose checks are ready, or a failed node to replace (rule A17).
bool NeedsSecondPass(const JobRecord& job);

}  // namespace muster
