// Finding a job by what a user types.
#pragma once

#include <string>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"

namespace muster::cli {

/// What a found job is wanted for.
enum class JobUse : unsigned char {
  kRead,    // to be shown: of several that have ended the newest, which stderr is told
  kChange,  // to be cancelled, held and so on: never a choice between several
};

/// By number, uid, NAMESPACE/NAME, or NAME in the session's namespace (optionally "job/NAME"). A
/// name is that of the job's object or, of a batch script, its --job-name. The one job of the name
/// that has not ended is meant; if there are several, or several ended ones and a change is wanted,
/// the failure lists them.
client::Outcome<client::JobView> FindJob(Session& session, const std::string& text, JobUse use);

/// The lines that `submit --wait` and `wait` print: "job 17 succeeded", "job 17 failed: exit code
/// 3".
std::string EndLine(const client::JobView& job);

/// Exit status by how jobs ended: 0 all succeeded, 1 one failed, else 2 one was cancelled.
int ExitOfEnds(const std::vector<client::JobView>& jobs);

}  // namespace muster::cli
