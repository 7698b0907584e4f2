// Starting the agent: it becomes a process of its own, outside srun's session and descriptors, and
// writes to a pipe when it serves.
#include "clients/steps/srun/connect.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "clients/steps/words.h"

extern char** environ;

namespace muster::steps {
namespace {

constexpr int kConnectTries = 400;
constexpr int kConnectPauseMs = 5;
constexpr int kReadyMs = 20'000;

std::string ReadAll(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string out;
  char buffer[16 << 10];
  while (file && out.size() < (4u << 20)) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got <= 0) break;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return out;
}

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

// A step's own variables must not make the agent look like a process of that step.
bool IsOfAStep(std::string_view variable) {
  for (const char* name : {"SLURM_STEP_ID=", "SLURM_STEPID=", "SLURM_PROCID=", "SLURM_LOCALID="}) {
    if (variable.starts_with(name)) return true;
  }
  return false;
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

// "SLURM_JOB_ID=7" in the environment of a process: the rest of its SLURM_* and the steps
// directory.
bool IsProcessOf(const std::string& environment, const std::string& job, std::string* directory,
                 std::vector<std::string>* out) {
  bool of_job = false;
  out->clear();
  directory->clear();
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string one = environment.substr(at, end - at);
    at = end + 1;
    of_job = of_job || one == "SLURM_JOB_ID=" + job;
    if (one.starts_with("MUSTER_STEPS_DIR=")) *directory = one.substr(17);
    if (one.starts_with("SLURM_") && !IsOfAStep(one)) out->push_back(one);
  }
  return of_job && !directory->empty();
}

}  // namespace

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string OwnProgramDirectory() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  const std::string whole(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  return whole.substr(0, whole.rfind('/'));
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

JobPlace OtherJobPlace(const std::string& job, std::vector<std::string>* environment) {
  JobPlace out;
  out.job = job;
  DIR* proc = ::opendir("/proc");
  while (const dirent* entry = proc == nullptr ? nullptr : ::readdir(proc)) {
    if (!WholeNumber(entry->d_name)) continue;
    const std::string base = std::string("/proc/") + entry->d_name;
    std::string directory;
    if (!IsProcessOf(ReadAll(base + "/environ"), job, &directory, environment)) continue;
    // The directory as that process sees it: its file system may be another one.
    std::string seen = base + "/root" + directory;
    if (::access((seen + "/manager.sock").c_str(), F_OK) != 0) continue;
    // A path that outlives the process, if it is the same directory.
    struct stat here {
    }, there{};
    if (::stat(directory.c_str(), &here) == 0 && ::stat(seen.c_str(), &there) == 0 &&
        here.st_ino == there.st_ino && here.st_dev == there.st_dev)
      seen = directory;
    out.directory = seen;
    break;
  }
  if (proc != nullptr) ::closedir(proc);
  if (out.directory.empty()) {
    environment->clear();
    out.error =
        "no step manager of job " + job +
        " can be reached on this host as this user: the job runs elsewhere, or no step of it "
        "has run yet";
  }
  return out;
}

std::unique_ptr<Channel> ConnectManager(const JobPlace& place, bool start, std::string* error) {
  const Descriptor directory(::open(place.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    *error = "the steps directory of job " + place.job + ": " + std::strerror(errno);
    return nullptr;
  }
  for (int i = 0; i < kConnectTries; ++i) {
    Descriptor socket = ConnectIn(directory.get(), "manager.sock");
    if (socket) {
      if (!PeerIsOwner(socket.get())) {
        *error = "the step manager of job " + place.job + " belongs to another user";
        return nullptr;
      }
      return std::make_unique<Channel>(std::move(socket));
    }
    if (errno != ENOENT && errno != ECONNREFUSED) break;
    if (!start) break;
    if (!StartAgent(place, error)) return nullptr;
    if (i > 0) ::poll(nullptr, 0, kConnectPauseMs);
  }
  *error = "no step manager of job " + place.job + " answers";
  return nullptr;
}

}  // namespace muster::steps
