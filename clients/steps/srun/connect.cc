// Starting the agent: it becomes a process of its own, outside srun's session and descriptors, and
// writes to a pipe when it serves.
#include "clients/steps/srun/connect.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "clients/steps/words.h"

extern char** environ;

namespace muster::steps {
namespace {

constexpr int kConnectPauseMs = 1, kLongestPauseMs = 20;
constexpr int kReadyMs = 20'000;
constexpr int kAskMs = 1'000;

std::string AgentProgram() {
  std::string named = EnvironmentText("MUSTER_STEP_AGENT");
  if (!named.empty()) return named;
  for (const char* place :
       {"/muster-step-agent", "/../muster-step-agent", "/../../../bin/muster-step-agent"}) {
    const std::string path = OwnProgramDirectory() + place;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "muster-step-agent";
}

// Runs the agent with descriptor 3 as the one to tell that it serves. Only system calls: this is a
// child of vfork.
[[noreturn]] void BecomeAgent(const char* program, char** argv, char** envp, int ready) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  if (ready != 3) ::dup2(ready, 3);
  ::fcntl(3, F_SETFD, 0);
  ::close_range(4, ~0u, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::chdir("/") != 0) ::_exit(1);
  ::execvpe(program, argv, envp);
  ::_exit(127);
}

bool StartAgent(const JobPlace& place, std::string* error) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return *error = std::strerror(errno), false;
  Descriptor reader(ends[0]), writer(ends[1]);
  const std::string program = AgentProgram();
  std::string directory = "MUSTER_STEPS_DIR=" + place.directory;
  std::vector<char*> envp;
  for (char** at = environ; *at != nullptr; ++at) {
    if (!IsOfAStep(*at) && std::strncmp(*at, "MUSTER_STEPS_DIR=", 17) != 0) envp.push_back(*at);
  }
  envp.push_back(directory.data());
  envp.push_back(nullptr);
  std::string words[] = {"muster-step-agent", "serve", "--ready-fd", "3"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const pid_t pid = ::vfork();
  if (pid == 0) BecomeAgent(program.c_str(), argv, envp.data(), writer.get());
  writer.reset();
  if (pid < 0) return *error = std::strerror(errno), false;
  pollfd wait{reader.get(), POLLIN, 0};
  ::poll(&wait, 1, kReadyMs);
  char byte = 0;
  if (::read(reader.get(), &byte, 1) == 1) return true;
  // It has ended: another one may have been faster, or it cannot run.
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  *error = "the step agent " + program + " does not start";
  return false;
}

// Asks the supervisor of the job's first pod to start the agent there (the FIFO is made by
// backends/local/supervisor/step_agent.cc). False if nobody listens.
bool AskForAgent(int directory) {
  const Descriptor wanted(
      ::openat(directory, "manager.wanted", O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  // Full: it has been asked already.
  return wanted && (::write(wanted.get(), "1", 1) == 1 || errno == EAGAIN);
}

}  // namespace

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsOfAStep(std::string_view variable) {
  for (const char* name : {"SLURM_STEP_ID=", "SLURM_STEPID=", "SLURM_PROCID=", "SLURM_LOCALID="}) {
    if (variable.starts_with(name)) return true;
  }
  return false;
}

std::string OwnProgramDirectory() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  const std::string whole(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  return whole.substr(0, whole.rfind('/'));
}

bool IsOwnJob(const std::string& job) {
  if (EnvironmentText("SLURM_JOB_ID") != job) return false;
  return !EnvironmentText("MUSTER_STEPS_DIR").empty() ||
         !EnvironmentText("SLURM_JOB_NODELIST").empty();
}

JobPlace OwnJobPlace() {
  JobPlace out;
  out.job = EnvironmentText("SLURM_JOB_ID");
  out.directory = EnvironmentText("MUSTER_STEPS_DIR");
  if (!out.directory.empty()) return out;
  out.private_directory = true;
  if (!WholeNumber(out.job)) return out.error = "SLURM_JOB_ID is no number", out;
  const std::string where = EnvironmentText("TMPDIR");
  out.directory = (where.empty() ? "/tmp" : where) + "/muster-steps-" + out.job + "-" +
                  std::to_string(::geteuid());
  struct stat what {};
  if (::mkdir(out.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    out.error = out.directory + ": " + std::strerror(errno);
  } else if (::lstat(out.directory.c_str(), &what) != 0 || !S_ISDIR(what.st_mode) ||
             what.st_uid != ::geteuid() || (what.st_mode & 077) != 0) {
    out.error = out.directory + " is not a directory of this user alone";
  }
  return out;
}

std::unique_ptr<Channel> ConnectManager(const JobPlace& place, bool start, std::string* error) {
  const Descriptor directory(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    *error = "the steps directory of job " + place.job + ": " + std::strerror(errno);
    return nullptr;
  }
  int pause = kConnectPauseMs;
  int slept = 0, ask_at = 0;
  while (slept < kReadyMs) {
    Descriptor socket = ConnectIn(directory.get(), "manager.sock");
    if (socket) {
      if (!PeerIsOwner(socket.get())) {
        *error = "the step manager of job " + place.job + " belongs to another user";
        return nullptr;
      }
      return std::make_unique<Channel>(std::move(socket));
    }
    if (errno != ENOENT && errno != ECONNREFUSED) break;
    if (start && !StartAgent(place, error)) return nullptr;
    if (!start && slept >= ask_at) {
      // Asked again, for instance because the script was not there yet.
      if (!AskForAgent(directory.get())) break;
      ask_at += kAskMs;
    }
    ::poll(nullptr, 0, pause);
    slept += pause;
    pause = std::min(2 * pause, kLongestPauseMs);
  }
  *error = "no step manager of job " + place.job + " answers";
  return nullptr;
}

}  // namespace muster::steps
