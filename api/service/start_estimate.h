// When a waiting job starts at the latest, by playing the declared time limits through the
// scheduler's own decisions on a virtual clock (schedd/simulate). Pure.
#pragma once

#include <vector>

#include "api/service/explained.h"

namespace muster::api {

/// `holders` hold quota, `waiting` are all that wait and may be tried, `job` among them. The
/// snapshot gives configuration, members and time.
StartEstimate EstimateStart(const core::Snapshot& snapshot, const std::vector<JobPtr>& holders,
                            const std::vector<JobPtr>& waiting, const JobPtr& job);

}  // namespace muster::api
