// muster hold, release and requeue: one POST /v1/jobs/ID:VERB for each job. A job that is refused
// does not stop the others; the exit status is the highest.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"

namespace muster::cli {
int ChangeJobs(Session& session, const std::string& verb, const std::vector<std::string>& jobs) {
  int exit = 0;
  for (const std::string& text : jobs) {
    const client::Outcome<client::JobView> job = FindJob(session, text, JobUse::kChange);
    if (!job.ok()) {
      exit = std::max(exit, PrintFailure(job.failure()));
      continue;
    }
    const std::string target = client::JobPath(std::to_string(job->id)) + ":" + verb;
    const client::Outcome<json::value> answer = session.api.Send({"POST", target});
    if (answer.ok()) {
      std::printf("job %lld is %s\n", static_cast<long long>(job->id),
                  ShownText(*answer, "state").c_str());
    } else {
      exit = std::max(exit, PrintFailure(answer.failure()));
    }
  }
  return exit;
}

}  // namespace muster::cli
