// What a JobFilter leaves out of the jobs in memory. Pure.
#pragma once

#include "api/service/job_rights.h"
#include "api/service/list_jobs.h"

namespace muster::api {

bool WantsState(const JobFilter& filter, JobState state);
/// True if some state that ends a job passes.
bool WantsEnded(const JobFilter& filter);
/// `seen`: what the caller may see; null: everything. Queries of the store ask the same (QueryOf in
/// list_jobs.cc).
bool PassesFilter(const JobFilter& filter, const VisibilityPtr& seen, const JobRecord& job);

}  // namespace muster::api
