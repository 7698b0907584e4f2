// The status of a Workload, read from the form that the API shows into the form that decisions use.
// External controllers write parts of it (admission checks, reclaimable pods); the conformance
// runner reads all of it (rule A59).
//
// Pure.
#pragma once

#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

struct WorkloadStatus {
  std::vector<Condition> conditions;
  AdmissionPtr admission;  // null: no reservation
  /// Only the members that a status has: checks, requeue, reclaimable, unhealthy_nodes,
  /// preemption_gates, past_execution_s and evictions. The others come from spec and annotations.
  AdmissionState state;
};

/// Records a problem for every member of a wrong type or value; unknown members are left alone.
WorkloadStatus ReadWorkloadStatus(const Field& status);

/// status.admissionChecks[] alone.
std::vector<AdmissionCheckStatus> ReadCheckStates(const Field& checks);
/// status.reclaimablePods[] alone.
std::vector<ReclaimablePods> ReadReclaimablePods(const Field& list);
/// One entry of admission.podSetAssignments[].
PodSetAssignment ReadPodSetAssignment(const Field& item);
/// status.admission; null if absent.
AdmissionPtr ReadAdmission(const Field& admission);

}  // namespace muster::shapes
