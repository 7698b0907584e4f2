// Finding and killing processes by their place in /proc: the way to reach everything that a pod has
// forked if no control group holds it together.
//
// Thread-safe (no state). Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::local {

/// The fields of /proc/PID/stat that are needed here.
struct ProcessInfo {
  pid_t pid = 0, parent = 0, session = 0;
  char state = '?';               // Z: dead, not yet reaped by its parent
  std::uint64_t start_ticks = 0;  // since boot; with the pid it identifies a process for good
};

/// Every process of the host.
std::vector<ProcessInfo> AllProcesses();
/// False if there is no such process.
bool ReadProcess(pid_t pid, ProcessInfo* out);
/// Children, grandchildren and so on of `root`, without `root` and without zombies.
std::vector<pid_t> Descendants(pid_t root);
/// Sends `signal` once to every descendant of `root`, in passes until a pass finds no new one (20
/// at most); returns the number of processes reached.
int SignalDescendants(pid_t root, int signal);
/// Kills descendants in passes until a pass finds none, at most `passes`; true if none is left.
/// Each pass stops all of them before it kills, because a fork bomb can outrun one pass but not
/// many.
bool KillDescendants(pid_t root, int passes = 200);
/// Signals the process of this pid and start, and no other that has got its pid; false if it has
/// ended.
bool SignalIfSame(pid_t pid, std::uint64_t start_ticks, int signal);
/// The value of `name` in the process's initial environment; nullopt if it is not there or cannot
/// be read.
std::optional<std::string> EnvironmentOf(pid_t pid, std::string_view name);
/// Bytes of memory that the process has resident; 0 if there is no such process.
std::int64_t ResidentBytes(pid_t pid);
/// Kills every process whose initial environment has the entry `marker` ("NAME=value"): the
/// processes that a killed supervisor has left. Returns their number. Waits, at most for half a
/// second, for those that have no environment at the moment, because they begin a program or end.
int KillByEnvironment(const std::string& marker);
/// Blocks until `pid` has ended, at most `milliseconds`.
void AwaitEnd(pid_t pid, int milliseconds);

}  // namespace muster::local
