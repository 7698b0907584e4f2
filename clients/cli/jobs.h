// Finds the job that a user named on the command line.
#pragma once

#include <string>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"

namespace muster::cli {

/// Why a command looks for a job.
enum class JobUse : unsigned char {
  kRead,    // to show it: of several ended jobs the newest is taken, and stderr says so
  kChange,  // to cancel it, hold it and so on: several ended jobs are refused
};

/// Finds a job by number, uid, NAMESPACE/NAME, or NAME in the session's namespace (optionally
/// "job/NAME"). A name is the name of the job's object or, of a batch script, its --job-name. It
/// means the one job of that name that has not ended. If there are several such jobs, or several
/// ended ones and `use` is kChange, the failure lists them.
client::Outcome<client::JobView> FindJob(Session& session, const std::string& text, JobUse use);

/// The line that `submit --wait` and `wait` print for a job: "job 17 succeeded", "job 17 failed:
/// exit code 3".
std::string EndLine(const client::JobView& job);

/// The exit status for ended jobs: 1 if one failed, else 2 if one was cancelled, else 0.
int ExitOfEnds(const std::vector<client::JobView>& jobs);

}  // namespace muster::cli
