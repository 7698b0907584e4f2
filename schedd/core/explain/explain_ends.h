// Whose end would let a job start, and when they end at the latest. Part of explain. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/core/explain/explain_trial.h"
#include "schedd/model/job.h"

namespace muster::core {

/// How long one attempt may take by what the job declares (activeDeadlineSeconds, #SBATCH --time,
/// maximum execution time), in seconds; nullopt: it declares nothing.
std::optional<std::int64_t> DeclaredLimit(const JobRecord& job);
/// When a job that holds quota gives it back at the latest: by its limits, at once if it is being
/// stopped; nullopt if it declares none or has not started for admission checks are open. One that
/// has not started counts from `now`; never before `now`.
std::optional<WallTime> LatestEnd(const JobRecord& job, WallTime now);

/// Sentences: jobs whose end alone would let `job` start, or the few that must end together; at
/// most limits::kExplainTrials of `holders` are tried, those that end first before the others.
std::vector<std::string> EndsThatHelp(Trial* trial, const JobPtr& job,
                                      std::vector<HolderPtr> holders);

}  // namespace muster::core
