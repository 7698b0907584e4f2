// The jobs whose end would let a job start, and when they end at the latest. Part of explain. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/core/explain/explain_trial.h"
#include "schedd/model/job.h"

namespace muster::core {

/// How long one attempt may run, by what the job declares (activeDeadlineSeconds, #SBATCH --time,
/// maximum execution time), in seconds; nullopt: it declares nothing.
std::optional<std::int64_t> DeclaredLimit(const JobRecord& job);
/// When a job that holds quota gives it back at the latest: by its limits, or at once if it is
/// being stopped; nullopt if it declares no limit, or has not started because admission checks are
/// open. The time of a job that has not started counts from `now`. Never before `now`.
std::optional<WallTime> LatestEnd(const JobRecord& job, WallTime now);

/// Sentences about the jobs whose end alone would let `job` start, or about the few that must end
/// together. At most limits::kExplainTrials of `holders` are tried, those that end first before the
/// others.
std::vector<std::string> EndsThatHelp(Trial* trial, const JobPtr& job,
                                      std::vector<HolderPtr> holders);

}  // namespace muster::core
