// Finding a job by what a user types.
#pragma once

#include <string>

#include "clients/cli/commands.h"
#include "clients/lib/job_view.h"

namespace muster::cli {

/// By number, uid, NAMESPACE/NAME, or NAME in the session's namespace (optionally "job/NAME"). Of
/// several jobs of one name the latest.
client::Outcome<client::JobView> FindJob(Session& session, const std::string& text);

/// The lines that `submit --wait` and `wait` print: "job 17 succeeded", "job 17 failed: exit code
/// 3".
std::string EndLine(const client::JobView& job);

/// Exit status by how jobs ended: 0 all succeeded, 1 one failed, else 2 one was cancelled.
int ExitOfEnds(const std::vector<client::JobView>& jobs);

}  // namespace muster::cli
