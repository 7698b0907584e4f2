// Finds the agents of another job than one's own: the daemon says which job it is, /proc where.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/steps/srun/connect.h"

namespace muster::steps {

/// Takes the daemon's answer out of the environment, where no task must find it: the name of the
/// directory of the running attempt ("UID-1") of `job`; nullopt if it has not been asked.
std::optional<std::string> TakeAnswer(const std::string& job);

/// Becomes muster-slurm, which asks the daemon for the job, prints why it cannot be entered, or
/// becomes this command again. Returns only errors: one sentence.
std::string AskDaemon(const std::string& command, const std::string& job, char** argv);

/// The place of another job on this host, by a process of it that belongs to this user; `attempt`
/// tells it from jobs of the same number that other daemons have. `environment` becomes the SLURM_*
/// variables of that process.
JobPlace OtherJobPlace(const std::string& job, const std::string& attempt,
                       std::vector<std::string>* environment);

}  // namespace muster::steps
