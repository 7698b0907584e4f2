// Finds the agents of a job: the steps directory, the manager's socket, and the agent's program,
// which the first srun of a job starts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
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
/// Whether this process is inside the job: it has its number and more of its variables, or the
/// number is only one that somebody has set.
bool IsOwnJob(const std::string& job);
/// Of the job that this process belongs to: MUSTER_STEPS_DIR, or a directory of this user and job
/// that is made where temporary files go.
JobPlace OwnJobPlace();
/// True for "SLURM_STEP_ID=0" and what else is a step's own: it must not make an agent look like a
/// process of that step.
bool IsOfAStep(std::string_view variable);

/// Connects to the manager. If nobody serves there, `start` starts the agent of this node; without
/// it the job's supervisor is asked to start one. Null with `error`.
std::unique_ptr<Channel> ConnectManager(const JobPlace& place, bool start, std::string* error);

/// The directory of this program, links resolved.
std::string OwnProgramDirectory();

}  // namespace muster::steps
