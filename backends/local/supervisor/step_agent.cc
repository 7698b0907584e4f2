// PodRunner: the step agent of a batch script's pod. srun inside the script starts it by itself;
// for srun outside of the job (`srun --jobid`) nobody does, so the supervisor does it when it is
// asked.
//
// The question is a byte in the FIFO `manager.wanted` of the steps directory, which is the user's
// alone. The agent gets what the script has: its user, mounts, control group and environment. It
// is no container: how it ends changes nothing, and whoever wants another one asks again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/local/supervisor/container_run.h"
#include "backends/local/supervisor/launch.h"
#include "backends/local/supervisor/pod_clock.h"

namespace muster::local {
namespace {

// As clients/steps/srun/connect.cc names it.
constexpr char kWanted[] = "/manager.wanted";
// A user who asks without end starts no more agents than this.
constexpr std::int64_t kAgentEveryMs = 500;

}  // namespace

void PodRunner::ListenForSteps() {
  const Container* script = Script();
  if (script == nullptr || pod_.batch->steps_dir.empty()) return;
  const ScopedUser as(script->user);
  if (!as.problem().empty()) return;
  const std::string path = pod_.batch->steps_dir + kWanted;
  // An earlier pod of the attempt may have left one.
  ::unlink(path.c_str());
  if (::mkfifo(path.c_str(), 0600) != 0) return;
  // For writing too: so it never ends, however many writers come and go.
  wanted_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  struct stat what {};
  if (wanted_ >= 0 && ::fstat(wanted_, &what) == 0 && S_ISFIFO(what.st_mode)) return Watch(wanted_);
  if (wanted_ >= 0) ::close(wanted_);
  wanted_ = -1;
}

// A question that comes while no agent can run is forgotten; srun asks again.
void PodRunner::OnAgentWanted() {
  char bytes[4096];
  while (::read(wanted_, bytes, sizeof bytes) == sizeof bytes) {
  }
  const Container* script = Script();
  const std::int64_t now = MonotonicMs();
  const bool runs = script != nullptr && script->state == State::kRunning && script->pid > 0;
  if (!runs || stopping_ || paused_at_ms_ > 0 || agent_pid_ > 0 || now < agent_next_ms_) return;
  agent_next_ms_ = now + kAgentEveryMs;
  ContainerSpec agent = script->spec;
  agent.argv = {pod_.batch->step_agent, "serve"};
  agent.working_dir = "/";
  agent.stdin_path = agent.stdout_path = agent.stderr_path = "";
  const LaunchedContainer launched = Launch(pod_, agent, cgroups_, false);
  if (launched.pid == 0) {
    TellAgent("[muster: the step agent could not start: " + launched.problem + "]\n");
    return;
  }
  CloseAgentOutput();
  agent_pid_ = launched.pid;
  agent_output_ = launched.output;
  Watch(agent_output_);
}

// What the agent says is for whoever reads the log; the files of the job are the script's.
void PodRunner::TellAgent(const std::string& text) {
  if (Container* script = Script()) script->log.Write(text, WallMicros());
}

void PodRunner::PumpAgent() {
  char buffer[4096];
  const ssize_t got = ::read(agent_output_, buffer, sizeof buffer);
  if (got > 0) return TellAgent({buffer, static_cast<std::size_t>(got)});
  if (got == 0) CloseAgentOutput();
}

void PodRunner::CloseAgentOutput() {
  if (agent_output_ >= 0) ::close(agent_output_);
  agent_output_ = -1;
}

}  // namespace muster::local
