// hold, release, requeue; logs.
#include <algorithm>
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/jobs.h"

namespace muster::cli {
int ChangeJobs(Session& session, const std::string& verb, const std::vector<std::string>& jobs) {
  int exit = 0;
  for (const std::string& text : jobs) {
    const client::Outcome<client::JobView> job = FindJob(session, text);
    if (!job.ok()) {
      exit = std::max(exit, PrintFailure(job.failure()));
      continue;
    }
    const std::string target = client::JobPath(std::to_string(job->id)) + ":" + verb;
    const client::Outcome<json::value> answer = session.api.Send({"POST", target});
    if (answer.ok()) {
      std::printf("job %lld is %s\n", static_cast<long long>(job->id),
                  client::PathText(*answer, "state").c_str());
    } else {
      exit = std::max(exit, PrintFailure(answer.failure()));
    }
  }
  return exit;
}

int Logs(Session& session, const LogOptions& options) {
  const client::Outcome<client::JobView> job = FindJob(session, options.job);
  if (!job.ok()) return PrintFailure(job.failure());
  client::Query query;
  query.Add("container", options.container).Add("pod", options.pod);
  if (options.follow) query.Add("follow", "true");
  if (options.tail >= 0) query.Add("tail", std::to_string(options.tail));
  const client::BodySink sink = [](std::string_view part) {
    const bool written = std::fwrite(part.data(), 1, part.size(), stdout) == part.size();
    return std::fflush(stdout) == 0 && written;
  };
  const std::string target = client::JobPath(std::to_string(job->id)) + "/logs" + query.text();
  const client::Outcome<client::HttpResponse> answer = session.api.Stream(target, 0, sink);
  return answer.ok() ? 0 : PrintFailure(answer.failure());
}

}  // namespace muster::cli
