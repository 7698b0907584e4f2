// Finds the agents of a job: the steps directory, the manager's socket, and the agent's program,
// which the first srun of a job starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clients/steps/wire.h"

namespace muster::steps {

/// The value of a variable of this process, "" without one.
std::string EnvironmentText(const char* name);

struct JobPlace {
  std::string job;
  std::string directory;           // as this process reaches it
  bool private_directory = false;  // made by srun itself: the nodes of the job share none
  std::string error;               // why there is none
};
/// Of the job that this process belongs to: MUSTER_STEPS_DIR, or a directory of this user and job
/// that is made where temporary files go.
JobPlace OwnJobPlace();
/// Of another job on this host, by a process of it that this user may look at. `environment`
/// becomes the SLURM_* variables of that process.
JobPlace OtherJobPlace(const std::string& job, std::vector<std::string>* environment);

/// Connects to the manager; if nobody serves there and `start` is set, starts the agent of this
/// node. Null with `error`.
std::unique_ptr<Channel> ConnectManager(const JobPlace& place, bool start, std::string* error);

/// The directory of this program, links resolved.
std::string OwnProgramDirectory();

}  // namespace muster::steps
