// A job as Kueue's Workload, in both served versions: what `kubectl get workloads` and the
// controllers of admission checks read (rule A59).
//
// Pure functions. `version` is "v1beta1" or "v1beta2"; they differ in the priority class, the
// encoding of topology assignments and the spelling of one field.
#pragma once

#include <string_view>

#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// False while it is held or deactivated: spec.active.
bool IsActive(const JobRecord& job);

/// Queue, priority, activity, and the pod sets: their requests, node selectors and tolerations, not
/// the whole templates of the job's manifest.
json::object WorkloadSpec(const JobRecord& job, std::string_view version);
/// Conditions, admission, checks, requeueState and the like. One that waits and never had a
/// reservation says why in QuotaReserved=False, since its submission.
json::object WorkloadStatus(const JobRecord& job, const AdmissionSettings& settings,
                            std::string_view version);
/// labels and annotations into `metadata`: those that say queue, priority class, boost and job.
void SetWorkloadLabels(const JobRecord& job, json::object* metadata);

}  // namespace muster::api
