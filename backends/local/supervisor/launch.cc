#include "backends/local/supervisor/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backends/local/process/files.h"
#include "backends/local/supervisor/isolate.h"

namespace muster::local {
namespace {

struct Pipes {
  int output[2] = {-1, -1}, errors[2] = {-1, -1}, result[2] = {-1, -1};
  int input = -1;
};

void CloseAll(Pipes* pipes) {
  for (int* fd : {&pipes->output[0], &pipes->output[1], &pipes->errors[0], &pipes->errors[1],
                  &pipes->result[0], &pipes->result[1], &pipes->input}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

[[noreturn]] void Fail(int result, const std::string& why) {
  if (::write(result, why.data(), why.size()) < 0) ::_exit(126);
  ::_exit(127);
}

std::string LimitResources(const ContainerSpec& container, const PodCgroups& cgroups) {
  if (!cgroups.Enter(container.name)) {
    return std::string("cannot enter the container's control group: ") + std::strerror(errno);
  }
  if (container.memory_bytes > 0 && !cgroups.limits_memory()) {
    const rlimit limit{static_cast<rlim_t>(container.memory_bytes),
                       static_cast<rlim_t>(container.memory_bytes)};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) {
      return std::string("cannot limit the container's memory: ") + std::strerror(errno);
    }
  }
  return "";
}

std::string BecomeUser(const ContainerSpec& container) {
  const uid_t uid = container.uid < 0 ? ::geteuid() : static_cast<uid_t>(container.uid);
  const gid_t gid = container.gid < 0 ? ::getegid() : static_cast<gid_t>(container.gid);
  if (uid == ::geteuid() && gid == ::getegid()) return "";
  if (::setgroups(0, nullptr) != 0 || ::setgid(gid) != 0 || ::setuid(uid) != 0) {
    return "cannot run as user " + std::to_string(uid) + ": " + std::strerror(errno);
  }
  return "";
}

[[noreturn]] void RunChild(const SupervisedPod& pod, const ContainerSpec& container,
                           const PodCgroups& cgroups, const Pipes& pipes, pid_t supervisor) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (std::string why = LimitResources(container, cgroups); !why.empty())
    Fail(pipes.result[1], why);
  const std::string own_dir = container.working_dir.empty() ? "work" : container.working_dir;
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr) Fail(pipes.result[1], "the pod's directory is gone");
  if (std::string why = Isolate(pod, container); !why.empty()) Fail(pipes.result[1], why);
  const std::string dir = own_dir[0] == '/' ? own_dir : std::string(here) + "/" + own_dir;
  if (::chdir(dir.c_str()) != 0) {
    Fail(pipes.result[1],
         "the working directory " + own_dir + " cannot be entered: " + std::strerror(errno));
  }
  ::dup2(pipes.input, 0);
  ::dup2(pipes.output[1], 1);
  ::dup2(pipes.errors[1] >= 0 ? pipes.errors[1] : pipes.output[1], 2);
  ::umask(022);
  if (std::string why = BecomeUser(container); !why.empty()) Fail(pipes.result[1], why);
  // setuid clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);

  std::vector<char*> argv, environment;
  for (const std::string& word : container.argv) argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& entry : container.environment)
    environment.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  const std::string program = FindProgram(container);
  if (program.empty()) {
    Fail(pipes.result[1], "there is no program \"" + container.argv[0] + "\" on this host's PATH");
  }
  ::execve(program.c_str(), argv.data(), environment.data());
  Fail(pipes.result[1], "\"" + container.argv[0] + "\" cannot be run: " + std::strerror(errno));
}

std::string OpenPipes(const ContainerSpec& container, Pipes* pipes) {
  const std::string in = container.stdin_path.empty() ? "/dev/null" : container.stdin_path;
  pipes->input = ::open(in.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (pipes->input < 0)
    return "the input file " + in + " cannot be opened: " + std::strerror(errno);
  if (::pipe2(pipes->output, O_CLOEXEC) != 0 || ::pipe2(pipes->result, O_CLOEXEC) != 0 ||
      (!container.stderr_path.empty() && ::pipe2(pipes->errors, O_CLOEXEC) != 0)) {
    return std::string("no pipes for the container: ") + std::strerror(errno);
  }
  return "";
}

}  // namespace

std::string FindProgram(const ContainerSpec& container) {
  const std::string& name = container.argv[0];
  if (name.find('/') != std::string::npos) return name;
  std::string rest;
  for (const std::string& entry : container.environment) {
    if (entry.starts_with("PATH=")) rest = entry.substr(5);
  }
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = rest.substr(0, colon) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0 && !IsDirectory(candidate)) return candidate;
    rest.erase(0, colon == std::string::npos ? rest.size() : colon + 1);
  }
  return "";
}

Launched Launch(const SupervisedPod& pod, const ContainerSpec& container,
                const PodCgroups& cgroups) {
  Launched launched;
  Pipes pipes;
  launched.problem = OpenPipes(container, &pipes);
  if (!launched.problem.empty()) {
    CloseAll(&pipes);
    return launched;
  }
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(pod, container, cgroups, pipes, supervisor);
  ::close(pipes.result[1]);
  pipes.result[1] = -1;
  if (pid < 0) {
    launched.problem = std::string("no process for the container: ") + std::strerror(errno);
    CloseAll(&pipes);
    return launched;
  }
  // End of file means that exec closed it: the program runs. The child is this process's to reap
  // either way.
  char why[1024];
  ssize_t got = 0;
  while ((got = ::read(pipes.result[0], why, sizeof why)) < 0 && errno == EINTR) {
  }
  if (got > 0) {
    launched.problem.assign(why, static_cast<std::size_t>(got));
    CloseAll(&pipes);
    return launched;
  }
  launched.pid = pid;
  std::swap(launched.output, pipes.output[0]);
  std::swap(launched.errors, pipes.errors[0]);
  CloseAll(&pipes);
  for (const int fd : {launched.output, launched.errors}) {
    if (fd >= 0) ::fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  return launched;
}

}  // namespace muster::local
