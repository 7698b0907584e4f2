// The member `batch` of the job view: what a batch script was submitted with and has become. Pure.
#pragma once

#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Null for jobs that are no batch scripts. Patterns of file names are expanded. Times are RFC 3339
/// or "".
json::value BatchJson(const JobRecord& job);

}  // namespace muster::api
