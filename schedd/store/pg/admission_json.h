// The column job_state.admission_state: what a workload collects during admission, and those fields
// of its spec that may change while it waits or runs. For most jobs the column is null.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/model/job.h"

namespace muster::pg {

/// "" for a job that has none of these.
std::string AdmissionStateText(const JobRecord& job);

/// Reads a stored text into its record; kDataLoss if it cannot be read.
Status TakeAdmissionState(std::string_view text, JobRecord* job);

}  // namespace muster::pg
