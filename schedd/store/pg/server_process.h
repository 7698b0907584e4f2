// Child processes of the embedded server: started as an unprivileged user, tied to the life of this
// process, and waited for by descriptor (pidfd) instead of by polling.
//
// Free functions and a plain handle; thread-safe as far as different children are concerned.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::pg {

/// The user that a child runs as. `switch_user` is false if this process already is that user.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  bool switch_user = false;
};

/// The user of the server: the owner of `data` if that exists; otherwise this user or, if this user
/// is root, `postgres` or `nobody`. kFailedPrecondition with a sentence if there is none;
/// kUnavailable: the name service does not answer.
Result<Account> ServerAccount(const std::string& data);

/// The name of an account; kFailedPrecondition if the system has none of this number, kUnavailable
/// as above.
Result<std::string> AccountName(uid_t uid);

/// A started child process, owned by the thread that started it: when that thread ends, the child
/// gets SIGINT.
class Child {
 public:
  Child() = default;
  Child(pid_t pid, int pidfd) : pid_(pid), pidfd_(pidfd) {}
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  /// Closes the descriptor; the process goes on.
  ~Child();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_; }
  /// Collects the exit status of a child that has ended; -1 if a signal ended it.
  int Reap();

 private:
  pid_t pid_ = 0;
  int pidfd_ = -1;
};

/// Starts `argv` with an almost empty environment in `/`, in a process group of its own; its output
/// is appended to `output_fd`.
Result<Child> StartChild(const std::vector<std::string>& argv, const Account& account,
                         int output_fd);

/// Runs `argv` to its end and returns its output; kFailedPrecondition with the last line of the
/// output if it failed. `exit_status`, if not null, gets its exit status.
Result<std::string> RunTool(const std::vector<std::string>& argv, const Account& account,
                            int* exit_status = nullptr);

/// Waits until one of `fds` (at most four) is readable (a pidfd: until the process has ended), or
/// until `timeout_ms` has passed. Returns the first readable one, or -1. A negative timeout means
/// no timeout.
int WaitReadable(std::initializer_list<int> fds, int timeout_ms);

/// A descriptor of a running process that need not be a child; -1 if there is no such process.
int OpenPidfd(pid_t pid);

}  // namespace muster::pg
