// The status of a job as its own kind's API writes it, so that tools for that kind can read
// Muster's answers. Pure functions.
#pragma once

#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// `status` of the job's kind: batch/v1 Job's counts and Complete/Failed/Suspended conditions,
/// RayJob's jobStatus, and so on. Members that Muster does not observe are left out.
json::object KindStatus(const JobRecord& job, const AdmissionSettings& settings);

}  // namespace muster::api
