// The column job_state.admission_state: what a workload collects on its way through admission, and
// those fields of its spec that may change while it waits or runs. Most jobs have none of it.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/model/job.h"

namespace muster::pg {

/// "" for a job that has nothing of it.
std::string AdmissionStateText(const JobRecord& job);

/// Puts a stored text into the record it belongs to; kDataLoss if it cannot be read.
Status TakeAdmissionState(std::string_view text, JobRecord* job);

}  // namespace muster::pg
