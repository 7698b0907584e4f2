// What the environment of an agent tells of its job and node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/steps/agent/step_book.h"

namespace muster::steps {

/// The value of a variable of this process, "" without one.
std::string OwnVariable(const char* name);

struct JobFacts {
  std::string job = "0";       // SLURM_JOB_ID
  std::string host;            // of this node
  bool first_node = true;      // this node's agent is the manager
  std::vector<JobNode> nodes;  // of the whole job; this node alone if nothing is told
  std::string steps_directory;
};

/// By SLURM_JOB_NODELIST (of each component of a heterogeneous job), SLURM_JOB_CPUS_PER_NODE,
/// SLURM_MEM_PER_NODE, SLURMD_NODENAME and JOB_COMPLETION_INDEX. "" or what is wrong.
std::string ReadJobFacts(JobFacts* out);

/// The GPUs that the job has on this node, as CUDA_VISIBLE_DEVICES names them.
std::vector<std::string> OwnGpus();

}  // namespace muster::steps
