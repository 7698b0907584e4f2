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

/// spec.active: false while the job is held or deactivated.
bool IsActive(const JobRecord& job);

/// Queue, priority, activity and pod sets. Of the pod templates it has what admission looks at:
/// requests, node selectors and tolerations.
json::object WorkloadSpec(const JobRecord& job, std::string_view version);
/// Conditions, admission, checks, requeueState and the like. A job that waits and never had a
/// reservation gets QuotaReserved=False with its reason, since its submission.
json::object WorkloadStatus(const JobRecord& job, const AdmissionSettings& settings,
                            std::string_view version);
/// Writes labels and annotations into `metadata`: queue, priority class, boost, and the job's uid.
void SetWorkloadLabels(const JobRecord& job, json::object* metadata);

}  // namespace muster::api
