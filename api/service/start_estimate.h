// Estimates when a waiting job starts at the latest: plays the declared time limits of all jobs
// through the scheduler's own decisions on a virtual clock (schedd/simulate). Pure.
#pragma once

#include <vector>

#include "api/service/job_explanation.h"

namespace muster::api {

/// `holders` hold quota; `waiting` are the jobs that wait and may be tried, `job` among them.
/// `snapshot` gives configuration, members and time.
StartEstimate EstimateStart(const core::Snapshot& snapshot, const std::vector<JobPtr>& holders,
                            const std::vector<JobPtr>& waiting, const JobPtr& job);

}  // namespace muster::api
