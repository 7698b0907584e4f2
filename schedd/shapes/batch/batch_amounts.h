// How much a batch script asks for, in the notations of Slurm (rules B2, B4). Internal to
// schedd/shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/license.h"
#include "schedd/model/resources.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/slurm_amounts.h"

namespace muster::shapes {

/// How much one component of a script asks for. A node is a pod, and all pods are equal: each gets
/// what the node with the most tasks needs.
struct BatchAmounts {
  std::int32_t nodes = 1;      // that it gets
  std::int32_t max_nodes = 1;  // that -N allows
  std::int32_t tasks = 1;      // of all nodes
  std::int32_t tasks_on_node = 1;   // the largest share
  std::int32_t tasks_per_node = 0;  // as given; 0: not given
  std::int32_t cpus_per_task = 1;
  // Of each node.
  std::int64_t cpus = 1;  // whole CPUs, for SLURM_CPUS_ON_NODE
  std::int64_t gpus = 0;
  std::int64_t memory_bytes = 0;  // 0: no option names memory
  std::int64_t memory_per_cpu_bytes = 0;  // 0: --mem-per-cpu was not given
  std::string gpu_type;           // "a100"; "": any
  ResourceList requests;          // of one pod; without licences
  ResourceList licenses;          // of one pod, as resources "license/NAME"
  bool whole_cpus = false;    // --exclusive: all CPUs and GPUs of the node
  bool whole_memory = false;  // --mem=0: all of its memory
};

/// Reads nodes, tasks*, cpusPer*, memory*, gres, gpus*, tresPerTask, exclusive, licenses, resources
/// and what `how` says of amounts, of a BatchScript's spec or of one of its components. Whole nodes
/// are what the field `wholeNode` says, which the service fills in (rule B42).
BatchAmounts ReadBatchAmounts(const Field& spec);

/// The number of tasks of each node: blocks, the first nodes have one more.
std::vector<std::int32_t> TasksOfNodes(const BatchAmounts& amounts);

/// The label of flavors, machines and member clusters that names the type of their GPUs.
inline constexpr std::string_view kGpuTypeLabel = "muster.io/gpu-type";

}  // namespace muster::shapes
