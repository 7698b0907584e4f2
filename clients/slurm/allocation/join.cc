// Asks which job is meant. The number alone does not tell: other daemons count, too, and their jobs
// may run on this host.
#include "clients/slurm/allocation/join.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "clients/lib/job_view.h"
#include "clients/slurm/allocation/allocation.h"
#include "clients/slurm/command.h"
#include "clients/steps/join_variable.h"
#include "clients/steps/words.h"

namespace muster::slurm {
namespace {

void SleepMs(std::int64_t ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000};
  ::nanosleep(&pause, nullptr);
}

// The reason in Slurm's words; "" if the server's own are as good.
std::string ReasonOf(const client::Failure& failure) {
  if (failure.status == 404) return "Invalid job id specified";
  if (failure.status == 401 || failure.status == 403) return "Access/permission denied";
  return FailureText(failure);
}

int CannotJoin(const std::string& command, const std::string& job, const std::string& why) {
  PrintError(command.c_str(), why);
  if (command == "srun") {
    std::fprintf(stderr,
                 "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s\n",
                 job.c_str());
  }
  return ErrorExit(kExitRefused);
}

// The job once it runs; nullopt with `exit` if it does not.
std::optional<client::JobView> AwaitRunning(const std::string& command, const std::string& job,
                                            client::ApiClient* api, int* exit) {
  const std::string unable = "Unable to confirm allocation for job " + job + ": ";
  bool told = false;
  while (true) {
    client::Outcome<json::value> answer = api->Get(client::JobPath(job));
    if (!answer.ok()) {
      *exit = CannotJoin(command, job, unable + ReasonOf(answer.failure()));
      return std::nullopt;
    }
    auto view = client::ParseJobView(std::move(answer).value());
    if (!view.ok()) {
      *exit = CannotJoin(command, job, unable + FailureText(view.failure()));
      return std::nullopt;
    }
    std::string why;
    if (view->ended()) why = "Slurm job " + job + " has expired";
    if (view->state == "Pending" || view->state == "Held")
      why = unable + "Job is pending execution";
    if (!why.empty()) {
      *exit = CannotJoin(command, job, why);
      return std::nullopt;
    }
    const bool suspended = !client::PathText(view->all, "batch.suspendedSince").empty();
    if (view->state == "Running" && !suspended) return std::move(*view);
    if (suspended && !std::exchange(told, true)) {
      std::fprintf(stderr,
                   "%s: Job %s step creation temporarily disabled, retrying (Job is suspended)\n",
                   command.c_str(), job.c_str());
    }
    SleepMs(suspended ? 1000 : 100);
  }
}

}  // namespace

int JoinJob(const std::string& wish, char** argv) {
  const std::size_t blank = wish.find(' ');
  std::string command = wish.substr(0, blank);
  const std::string job = blank == std::string::npos ? "" : wish.substr(blank + 1);
  if ((command != "srun" && command != "sattach") || !ParseCount(job))
    return Fail("srun", std::string(steps::kJoinVariable) + " is not for users");
  const std::optional<client::Settings> settings = FindServer(command.c_str());
  if (!settings) return ErrorExit(kExitRefused);
  client::ApiClient api(*settings);
  int exit = 0;
  const std::optional<client::JobView> view = AwaitRunning(command, job, &api, &exit);
  if (!view) return exit;
  const client::Outcome<std::string> own = OwnUser(api);
  if (own.ok() && *own != client::MemberText(view->all, "user")) {
    return CannotJoin(command, job,
                      "Unable to confirm allocation for job " + job + ": Access/permission denied");
  }
  const std::string answer = wish + " " + client::MemberText(view->all, "uid") + "-" +
                             client::MemberText(view->all, "attempt");
  ::setenv(steps::kJoinVariable, answer.c_str(), 1);
  std::signal(SIGPIPE, SIG_DFL);
  const std::string program = StepProgram();
  argv[0] = command.data();
  ::execv(program.c_str(), argv);
  return Fail(command.c_str(), program + ": " + std::strerror(errno));
}

}  // namespace muster::slurm
