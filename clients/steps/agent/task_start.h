// Starts one task of a step: the only place of the agent that makes processes.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace muster::steps {

/// Everything about a process before it begins. The descriptors stay the caller's.
struct TaskStart {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // SLURM_TASK_PID is added
  std::string directory;
  std::int32_t umask = 022;
  std::vector<std::int64_t> limits;  // pairs as in TaskWorld
  int input = -1, output = -1, error = -1;
  int keep = -1;          // one more descriptor that the program inherits, under the same number
  bool terminal = false;  // `input` is a terminal that becomes the controlling one
  const cpu_set_t* cpus = nullptr;
};

struct TaskStarted {
  pid_t pid = -1;  // -1: no process was made, `error` says why
  int error = 0;   // with a pid: exec failed, and the process has ended with this number
  /// chdir failed with this number; the task began in /tmp.
  int directory_error = 0;
};

/// The path that a program's name stands for, in PATH of `environment` if it has no slash; the name
/// itself if there is none.
std::string FindProgram(const std::string& name, const std::string& path,
                        const std::string& directory);

/// The process is the leader of a session of its own, and is killed when the agent dies.
TaskStarted StartTask(const TaskStart& start);

}  // namespace muster::steps
