// Finding and ending processes by their place in /proc: the way to reach everything a pod ever
// forked when no cgroup holds it together.
//
// Thread-safe (no state). Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::local {

/// One line of /proc as far as it is needed here.
struct ProcessInfo {
  pid_t pid = 0, parent = 0, session = 0;
  char state = '?';               // Z: dead, waiting for its parent
  std::uint64_t start_ticks = 0;  // since boot: with the pid it names a process for good
};

/// Every process of the host.
std::vector<ProcessInfo> AllProcesses();
/// False if there is no such process.
bool ReadProcess(pid_t pid, ProcessInfo* out);
/// Children, grandchildren, ... of `root`, without itself and without zombies.
std::vector<pid_t> Descendants(pid_t root);
/// Sends `signal` to every descendant of `root`; the number reached.
int SignalDescendants(pid_t root, int signal);
/// KILLs descendants in passes until a pass finds none (a fork bomb outruns one pass, not many:
/// each pass first stops, then kills). At most `passes`; true if none is left.
bool KillDescendants(pid_t root, int passes = 200);
/// KILLs every process whose initial environment has the entry `marker` ("NAME=value"): what a
/// supervisor that was itself killed left behind. The number killed.
int KillByEnvironment(const std::string& marker);
/// Blocks until `pid` has ended, at most `milliseconds`.
void AwaitEnd(pid_t pid, int milliseconds);

}  // namespace muster::local
