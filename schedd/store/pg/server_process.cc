// Starting, waiting for and reaping child processes.
//
// Between fork and exec only async-signal-safe calls are made, because other threads of the daemon
// may hold locks (fork(2)). The child resets its signals, closes all descriptors but its three,
// switches the user, and asks for SIGINT when its parent thread dies (PR_SET_PDEATHSIG, prctl(2)).
// It then checks that the parent is still the parent, because a parent that died before the prctl
// sends nothing.
#include "schedd/store/pg/server_process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/base/passwd.h"

namespace muster::pg {
namespace {

Error ProcessFailure(const std::string& what) {
  return {Code::kFailedPrecondition, "cannot " + what + ": " + std::strerror(errno)};
}

// The child's side of fork. Only async-signal-safe calls are allowed here.
[[noreturn]] void BecomeChild(char* const* argv, const Account& account, int output_fd,
                              pid_t parent) {
  setpgid(0, 0);  // Ctrl-C on a terminal reaches the daemon only, which then stops the server
  umask(077);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2}) {
    signal(number, SIG_DFL);
  }
  const int null_fd = open("/dev/null", O_RDONLY);
  const bool piped = dup2(null_fd, 0) == 0 && dup2(output_fd, 1) == 1 && dup2(output_fd, 2) == 2;
  syscall(SYS_close_range, 3U, ~0U, 0U);
  bool ready = piped && chdir("/") == 0;
  if (account.switch_user) {
    ready = ready && setgroups(1, &account.gid) == 0 && setgid(account.gid) == 0 &&
            setuid(account.uid) == 0;
  }
  // PR_SET_PDEATHSIG comes after the change of user, because that clears it.
  ready = ready && prctl(PR_SET_PDEATHSIG, SIGINT) == 0 && getppid() == parent;
  static char language[] = "LC_ALL=C";
  static char path[] = "PATH=/usr/bin:/bin";
  char* const environment[] = {language, path, nullptr};
  if (ready) execve(argv[0], argv, environment);
  _exit(127);
}

}  // namespace

Result<Account> ServerAccount(const std::string& data) {
  struct stat status {};
  const uid_t self = geteuid();
  const bool exists = stat(data.c_str(), &status) == 0;
  if (exists && self != 0 && status.st_uid != self) {
    return Error{Code::kFailedPrecondition, data + " belongs to another user"};
  }
  if (self != 0) return Account{self, getegid(), "", false};
  // A name service that does not answer is no reason to take another user.
  const bool owned = exists && status.st_uid != 0;
  Result<std::optional<PasswdEntry>> found =
      owned ? PasswdByUid(status.st_uid) : PasswdByName("postgres");
  if (!owned && found.ok() && !*found) found = PasswdByName("nobody");
  if (!found.ok()) return found.error();
  if (!*found || (*found)->uid == 0) {
    return Error{Code::kFailedPrecondition,
                 "PostgreSQL does not run as root, and there is no user to run it as; create the "
                 "user postgres"};
  }
  return Account{(*found)->uid, (*found)->gid, (*found)->name, true};
}

Result<std::string> AccountName(uid_t uid) {
  const Result<std::optional<PasswdEntry>> found = PasswdByUid(uid);
  if (!found.ok()) return found.error();
  if (*found) return (*found)->name;
  return Error{Code::kFailedPrecondition,
               "user number " + std::to_string(uid) +
                   " has no name, by which PostgreSQL would know it; run musterd as a user that "
                   "the system knows"};
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::exchange(other.pidfd_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  return *this;
}

Child::~Child() {
  if (pidfd_ >= 0) close(pidfd_);
}

int Child::Reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A child that cannot be watched is killed at once.
Result<Child> StartChild(const std::vector<std::string>& argv, const Account& account,
                         int output_fd) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ProcessFailure("start a process");
  if (pid == 0) BecomeChild(arguments.data(), account, output_fd, parent);
  Child child(pid, OpenPidfd(pid));
  if (child.pidfd() < 0) {
    const Error error = ProcessFailure("watch a process");
    kill(pid, SIGKILL);
    child.Reap();
    return error;
  }
  return child;
}

// Reads the output until the tool closes it, then collects its exit status.
Result<std::string> RunTool(const std::vector<std::string>& argv, const Account& account,
                            int* exit_status) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ProcessFailure("make a pipe");
  Result<Child> child = StartChild(argv, account, ends[1]);
  close(ends[1]);
  std::string output;
  std::array<char, 4096> chunk{};
  for (ssize_t got = 0; child.ok() && (got = read(ends[0], chunk.data(), chunk.size())) != 0;) {
    if (got > 0) output.append(chunk.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  if (!child.ok()) return child.error();
  const int status = child->Reap();
  if (exit_status != nullptr) *exit_status = status;
  while (!output.empty() && output.back() == '\n') output.pop_back();
  if (status == 0) return output;
  const std::string name = argv[0].substr(argv[0].rfind('/') + 1);
  return Error{Code::kFailedPrecondition, name + " failed (" + std::to_string(status) +
                                              "): " + output.substr(output.rfind('\n') + 1)};
}

int WaitReadable(std::initializer_list<int> fds, int timeout_ms) {
  std::array<struct pollfd, 4> waits{};
  MUSTER_CHECK(fds.size() <= waits.size());
  nfds_t count = 0;
  for (const int fd : fds) waits[count++] = {fd, POLLIN, 0};
  if (poll(waits.data(), count, timeout_ms) <= 0) return -1;
  for (nfds_t i = 0; i < count; ++i) {
    if (waits[i].revents != 0) return waits[i].fd;
  }
  return -1;
}

int OpenPidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace muster::pg
