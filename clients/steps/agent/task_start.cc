// vfork and exec: the child shares the agent's memory until it runs its program, so it makes
// system calls only, on what was prepared before.
#include "clients/steps/agent/task_start.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace muster::steps {
namespace {

bool IsProgram(const std::string& path) {
  struct stat what {};
  return ::stat(path.c_str(), &what) == 0 && S_ISREG(what.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// The whole-number text of the child's own pid behind "SLURM_TASK_PID=".
void WritePid(char* out, pid_t pid) {
  char digits[16];
  int count = 0;
  for (; pid > 0; pid /= 10) digits[count++] = static_cast<char>('0' + pid % 10);
  while (count > 0) *out++ = digits[--count];
  *out = 0;
}

// What the child needs, as the system calls take it.
struct Prepared {
  const TaskStart* start = nullptr;
  const char* program = nullptr;
  char** argv = nullptr;
  char** envp = nullptr;
  char* pid_text = nullptr;
  pid_t parent = 0;
  volatile int exec_error = 0;
  volatile int directory_error = 0;
};

// Only system calls: the parent waits and its memory is this one's.
[[noreturn]] void RunChild(Prepared* prepared) {
  const TaskStart& start = *prepared->start;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared->parent) ::_exit(137);
  ::setsid();
  if (start.terminal) ::ioctl(start.input, TIOCSCTTY, 0);
  ::dup2(start.input, 0);
  ::dup2(start.output, 1);
  ::dup2(start.error, 2);
  if (start.keep >= 0) ::fcntl(start.keep, F_SETFD, 0);
  for (std::size_t i = 0; i + 1 < start.limits.size(); i += 2) {
    const auto resource = static_cast<__rlimit_resource_t>(start.limits[i]);
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) continue;
    const auto soft =
        start.limits[i + 1] < 0 ? RLIM_INFINITY : static_cast<rlim_t>(start.limits[i + 1]);
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    ::setrlimit(resource, &limit);
  }
  ::umask(static_cast<mode_t>(start.umask));
  if (start.cpus != nullptr) ::sched_setaffinity(0, sizeof(cpu_set_t), start.cpus);
  if (::chdir(start.directory.c_str()) != 0) {
    prepared->directory_error = errno;
    if (::chdir("/tmp") != 0 && ::chdir("/") != 0) ::_exit(1);
  }
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT})
    ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  WritePid(prepared->pid_text, ::getpid());
  ::execve(prepared->program, prepared->argv, prepared->envp);
  prepared->exec_error = errno;
  ::_exit(errno & 0xff);
}

}  // namespace

std::string FindProgram(const std::string& name, const std::string& path,
                        const std::string& directory) {
  if (name.find('/') != std::string::npos) return name;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    std::string where = path.substr(at, end - at);
    if (where.empty() || where[0] != '/') where = directory + "/" + where;
    if (IsProgram(where + "/" + name)) return where + "/" + name;
    at = end + 1;
  }
  return name;
}

TaskStarted StartTask(const TaskStart& start) {
  std::vector<char*> argv;
  for (const std::string& word : start.arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  std::vector<char*> envp;
  for (const std::string& one : start.environment) {
    if (one.starts_with("PATH=")) path = one.substr(5);
    envp.push_back(const_cast<char*>(one.c_str()));
  }
  static constexpr char kTaskPid[] = "SLURM_TASK_PID=";
  char pid_variable[sizeof(kTaskPid) + 16];
  std::copy(std::begin(kTaskPid), std::end(kTaskPid), pid_variable);
  envp.push_back(pid_variable);
  envp.push_back(nullptr);
  const std::string program = FindProgram(start.arguments[0], path, start.directory);

  Prepared prepared;
  prepared.start = &start;
  prepared.program = program.c_str();
  prepared.argv = argv.data();
  prepared.envp = envp.data();
  prepared.pid_text = pid_variable + sizeof(kTaskPid) - 1;
  prepared.parent = ::getpid();
  const pid_t pid = ::vfork();
  if (pid == 0) RunChild(&prepared);
  TaskStarted out;
  out.pid = pid;
  out.error = pid < 0 ? errno : prepared.exec_error;
  out.directory_error = prepared.directory_error;
  return out;
}

}  // namespace muster::steps
