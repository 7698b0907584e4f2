// Child processes of the embedded server: started as an unprivileged account, tied to this
// process's life, waited for by descriptor instead of by polling.
//
// Free functions and a plain handle; thread-safe as far as different children go.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::pg {

/// Whom a child runs as. `switch_user` is false when this process already is that user.
struct Account {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
  bool switch_user = false;
};

/// The account of the server: the owner of `data` if that exists; otherwise this user, or, when
/// this is root, `postgres` or `nobody`. kFailedPrecondition with a sentence if there is none that
/// would do.
Result<Account> ServerAccount(const std::string& data);

/// A started child. Owned by the thread that started it: when that thread ends, the child gets
/// SIGINT.
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
  /// Takes the exit status of an ended child; -1 for an end by signal.
  int Reap();

 private:
  pid_t pid_ = 0;
  int pidfd_ = -1;
};

/// Starts `argv` with an empty environment in `/`, output appended to `output_fd`, in a process
/// group of its own.
Result<Child> StartChild(const std::vector<std::string>& argv, const Account& account,
                         int output_fd);

/// Runs `argv` to its end and returns what it printed; kFailedPrecondition with the last line if it
/// failed.
Result<std::string> RunTool(const std::vector<std::string>& argv, const Account& account);

/// Waits until one of `fds` (at most four) is readable (for a pidfd: ended), or `timeout_ms`
/// passed. Returns the first readable one, or -1. A negative timeout waits for good.
int WaitReadable(std::initializer_list<int> fds, int timeout_ms);

/// A descriptor of a running process that is not our child; -1 if there is no such process.
int OpenPidfd(pid_t pid);

}  // namespace muster::pg
