// What the kernel tells of processes, in /proc.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "clients/steps/descriptor.h"

namespace muster::steps {

/// Bytes that a process and the children that it has waited for have read and written; unchanged if
/// the kernel does not tell.
void ReadIo(pid_t pid, std::int64_t* read, std::int64_t* written);
std::vector<pid_t> ChildrenOf(pid_t pid);
/// SLURM_STEP_ID of the environment that the process began with; -1 without one.
std::int32_t StepOfProcess(pid_t pid);
/// One process for good: its number may be somebody else's as soon as it is reaped.
class ProcessHandle {
 public:
  explicit ProcessHandle(pid_t pid);
  /// False if the process has ended, or may not be signalled.
  bool Signal(int signal) const;

 private:
  const pid_t pid_;
  const Descriptor fd_;
  const bool without_handles_;  // the kernel has none
};

/// SIGKILL to the process and everything below it, if it is a child of `parent`.
void KillTree(pid_t pid, pid_t parent);
/// Kills the processes of this user that have both variables in their environment.
void KillProcessesOf(const std::string& steps_directory, std::int32_t step);
/// The affinity of this process, as numbers.
std::vector<std::int32_t> OwnCpus();

}  // namespace muster::steps
