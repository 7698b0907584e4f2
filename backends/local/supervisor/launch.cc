// Launch: fork, set-up and exec of one container.
//
// The child sets itself up in this order: session, death signal, limits, namespaces and mounts,
// then its user, then everything that the job names, opened as that user; exec last. It reports
// over a socket pair that exec closes: first its open output files (SCM_RIGHTS), or a sentence that
// says what failed. So the parent knows when Launch returns whether the program runs.
#include "backends/local/supervisor/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backends/local/process/files.h"
#include "backends/local/supervisor/confine.h"
#include "backends/local/supervisor/credentials.h"
#include "backends/local/supervisor/isolate.h"

namespace muster::local {
namespace {

// The first byte of the child's messages: one has its open output files, the other the sentence
// that says why it failed.
constexpr char kFiles = 'f', kProblem = 'p';
constexpr std::size_t kMessageBytes = 1024;

struct Pipes {
  int output[2] = {-1, -1}, errors[2] = {-1, -1}, result[2] = {-1, -1};
};

void CloseAll(Pipes* pipes) {
  for (int* fd : {&pipes->output[0], &pipes->output[1], &pipes->errors[0], &pipes->errors[1],
                  &pipes->result[0], &pipes->result[1]}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
}

// In the child: reports the reason and ends.
[[noreturn]] void Fail(int result, const std::string& why) {
  const std::string message = kProblem + why.substr(0, kMessageBytes - 1);
  if (::send(result, message.data(), message.size(), 0) < 0) ::_exit(126);
  ::_exit(127);
}

// Never blocks: a FIFO without a reader, or a directory, is an error.
int OpenForOutput(const std::string& path, bool append) {
  const int fd = ::open(
      path.c_str(),
      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (append ? O_APPEND : O_TRUNC), 0666);
  if (fd >= 0) ::fcntl(fd, F_SETFL, append ? O_APPEND : 0);
  return fd;
}

int OpenForInput(const std::string& path) {
  const int fd = ::open(path.empty() ? "/dev/null" : path.c_str(),
                        O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd >= 0) ::fcntl(fd, F_SETFL, 0);
  return fd;
}

std::string CannotOpen(const char* what, const std::string& path) {
  return "the " + std::string(what) + " file " + path +
         " cannot be opened: " + std::strerror(errno);
}

// The ancillary part of a message, with room for two descriptors.
struct FileRights {
  alignas(cmsghdr) char bytes[CMSG_SPACE(2 * sizeof(int))];
};

// Passes the output files to the supervisor, which copies the container's output into them. The
// bytes after the first say which files they are: o, e.
void SendFiles(int result, int output, int errors) {
  std::string message(1, kFiles);
  int fds[2];
  std::size_t count = 0;
  if (output >= 0) message += 'o', fds[count++] = output;
  if (errors >= 0) message += 'e', fds[count++] = errors;
  if (count == 0) return;
  iovec part{message.data(), message.size()};
  FileRights rights{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = rights.bytes;
  header.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* first = CMSG_FIRSTHDR(&header);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(first), fds, count * sizeof(int));
  if (::sendmsg(result, &header, 0) < 0)
    Fail(result, std::string("the output files cannot be handed over: ") + std::strerror(errno));
}

// Reads one message of the child into `launched`; false at the end, which the exec causes.
bool TakeMessage(int result, LaunchedContainer* launched) {
  char text[kMessageBytes];
  iovec part{text, sizeof text};
  FileRights rights{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = rights.bytes;
  header.msg_controllen = sizeof rights.bytes;
  ssize_t got = 0;
  while ((got = ::recvmsg(result, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got <= 0) return false;
  if (text[0] == kProblem) {
    launched->problem.assign(text + 1, static_cast<std::size_t>(got) - 1);
    return true;
  }
  const cmsghdr* first = CMSG_FIRSTHDR(&header);
  if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return true;
  const std::size_t count = (first->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < count && i + 1 < static_cast<std::size_t>(got); ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(first) + i * sizeof fd, sizeof fd);
    (text[i + 1] == 'o' ? launched->output_file : launched->error_file) = fd;
  }
  return true;
}

// Enters the control group. Memory is limited by RLIMIT_AS if no group does it.
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

// The cpus that the container may use. Also in a control group, where version 2 has that controller
// (PodCgroups), because a program may widen its affinity.
void PinTo(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  // A cpu may have gone offline since; the container runs on whatever there is.
  ::sched_setaffinity(0, sizeof set, &set);
}

// In the child, as the container's user, in its working directory.
void OpenFiles(const ContainerSpec& container, const Pipes& pipes, bool open_files) {
  const int input = OpenForInput(container.stdin_path);
  if (input < 0) Fail(pipes.result[1], CannotOpen("input", container.stdin_path));
  int output = -1, errors = -1;
  if (open_files && !container.stdout_path.empty()) {
    output = OpenForOutput(container.stdout_path, container.append);
    if (output < 0) Fail(pipes.result[1], CannotOpen("output", container.stdout_path));
  }
  if (open_files && !container.stderr_path.empty()) {
    errors = OpenForOutput(container.stderr_path, container.append);
    if (errors < 0) Fail(pipes.result[1], CannotOpen("error", container.stderr_path));
  }
  SendFiles(pipes.result[1], output, errors);
  ::dup2(input, 0);
  ::dup2(pipes.output[1], 1);
  ::dup2(pipes.errors[1] >= 0 ? pipes.errors[1] : pipes.output[1], 2);
}

// Runs the program; if that fails, the parent hears why.
[[noreturn]] void Execute(const ContainerSpec& container, int result) {
  std::vector<char*> argv, environment;
  for (const std::string& word : container.argv) argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& entry : container.environment)
    environment.push_back(const_cast<char*>(entry.c_str()));
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  const std::string program = FindProgram(container);
  if (program.empty()) {
    Fail(result, "there is no program \"" + container.argv[0] + "\" on this host's PATH");
  }
  ::execve(program.c_str(), argv.data(), environment.data());
  Fail(result, "\"" + container.argv[0] + "\" cannot be run: " + std::strerror(errno));
}

// Enters the pod's own directory with the supervisor's rights, because those above it may be closed
// to the user. False if it is not there any more: a volume of the job covers it, and what is there
// now is the user's.
bool EnterOwn(const std::string& path, const struct stat& own) {
  struct stat now {};
  return ::chdir(path.c_str()) == 0 && ::stat(".", &now) == 0 && now.st_dev == own.st_dev &&
         now.st_ino == own.st_ino;
}

// The child between fork and exec.
[[noreturn]] void RunChild(const SupervisedPod& pod, const ContainerSpec& container,
                           const PodCgroups& cgroups, const Pipes& pipes, pid_t supervisor,
                           bool open_files) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(127);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // The supervisor ignores these, and exec would hand that on.
  for (const int ignored : {SIGPIPE, SIGHUP, SIGINT}) ::signal(ignored, SIG_DFL);
  if (std::string why = LimitResources(container, cgroups); !why.empty())
    Fail(pipes.result[1], why);
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr) Fail(pipes.result[1], "the pod's directory is gone");
  const std::string& named = container.working_dir;
  const std::string start = named.empty() ? std::string(here) + "/work" : here;
  struct stat own {};
  ::stat(start.c_str(), &own);
  if (std::string why = Isolate(pod, container); !why.empty()) Fail(pipes.result[1], why);
  // A working directory that the job names is entered with the user's rights only.
  const bool entered = EnterOwn(start, own);
  if (!entered && ::chdir("/") != 0) Fail(pipes.result[1], "the container has no root");
  const BatchPod* batch = pod.batch ? &*pod.batch : nullptr;
  if (batch != nullptr) PinTo(batch->cpus);
  ::umask(batch != nullptr && batch->umask >= 0 ? static_cast<mode_t>(batch->umask) : 022);
  const Credentials user = CredentialsOf(container);
  if (user.uid != 0) SetUsualLimits();
  if (std::string why = BecomeUser(user); !why.empty()) Fail(pipes.result[1], why);
  if (!entered && ::chdir(start.c_str()) != 0)
    Fail(pipes.result[1], std::string("the pod's directory is gone: ") + std::strerror(errno));
  if (!named.empty() && ::chdir(named.c_str()) != 0) {
    Fail(pipes.result[1],
         "the working directory " + named + " cannot be entered: " + std::strerror(errno));
  }
  OpenFiles(container, pipes, open_files);
  // Set again, because setuid clears it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (std::string why = user.uid == 0 ? "" : LimitSystemCalls(); !why.empty())
    Fail(pipes.result[1], why);
  // Last, because they may be too low for what is done before.
  if (batch != nullptr) SetSoftLimits(batch->soft_limits);
  Execute(container, pipes.result[1]);
}

std::string OpenPipes(const ContainerSpec& container, Pipes* pipes) {
  if (::pipe2(pipes->output, O_CLOEXEC) != 0 ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pipes->result) != 0 ||
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

LaunchedContainer Launch(const SupervisedPod& pod, const ContainerSpec& container,
                         const PodCgroups& cgroups, bool open_files) {
  LaunchedContainer launched;
  Pipes pipes;
  launched.problem = OpenPipes(container, &pipes);
  if (!launched.problem.empty()) {
    CloseAll(&pipes);
    return launched;
  }
  const pid_t supervisor = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(pod, container, cgroups, pipes, supervisor, open_files);
  ::close(pipes.result[1]);
  pipes.result[1] = -1;
  if (pid < 0) {
    launched.problem = std::string("no process for the container: ") + std::strerror(errno);
    CloseAll(&pipes);
    return launched;
  }
  // The end without a problem means that exec closed the socket: the program runs. The supervisor
  // reaps the child in either case.
  while (TakeMessage(pipes.result[0], &launched)) {
  }
  if (!launched.problem.empty()) {
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
