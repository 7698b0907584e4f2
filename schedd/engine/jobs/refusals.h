// Errors of commands about one job. Pure.
#pragma once

#include <string>

#include "schedd/base/result.h"
#include "schedd/model/job.h"

namespace muster {

/// kNotFound: "job 7 does not exist".
inline Error NoSuchJob(JobId id) {
  return NotFound("job " + std::to_string(id.value) + " does not exist");
}

/// kFailedPrecondition: "job 7 WHY".
inline Error Refused(const JobRecord& job, const std::string& why) {
  return {Code::kFailedPrecondition, "job " + std::to_string(job.id.value) + " " + why};
}

}  // namespace muster
