// Takes jobs that a caller may not see out of answers about other jobs (rule U24): of them it
// learns how many there are and in which ClusterQueue, and no name.
//
// Pure; thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "api/service/job_explanation.h"
#include "schedd/world/job_table.h"

namespace muster::api {

/// What a hidden job is called.
inline constexpr char kHiddenJob[] = "another namespace's job";

using JobSeen = std::function<bool(const JobRecord& job)>;

/// Replaces each job of which `seen` is false by one without number and namespace.
void HideJobs(const JobSeen& seen, std::vector<JobPtr>* jobs);
/// The same in an explanation, also in its sentences, which mention jobs as core::MentionOf writes
/// them. `jobs` has the jobs that they may mention; one that it does not have is hidden.
void HideJobs(const JobSeen& seen, const JobTable& jobs, JobExplanation* explained);

}  // namespace muster::api
