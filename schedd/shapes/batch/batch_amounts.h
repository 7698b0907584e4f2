// How much a batch script asks for, in the notations of Slurm (rules B2, B4). Internal to
// schedd/shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/model/resources.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// The amounts that the options name, and the amounts that follow from them.
struct BatchAmounts {
  std::int32_t tasks = 1;
  std::int32_t cpus_per_task = 1;
  std::int64_t cpus = 1;  // whole CPUs, for SLURM_CPUS_ON_NODE
  std::int64_t gpus = 0;
  std::int64_t memory_bytes = 0;  // 0: no option names memory
  ResourceList requests;          // of the script's one pod
};

/// Reads tasks, cpusPerTask, memory*, gres, gpus*, nodes and resources of a BatchScript's spec.
BatchAmounts ReadBatchAmounts(const Field& spec);

/// "30", "30:00", "1:00:00", "1-0", "1-12:30" in seconds, rounded up to a minute as Slurm does; 0
/// for "0", UNLIMITED and INFINITE; nothing if malformed.
std::optional<std::int64_t> ParseSlurmTime(std::string_view text);

/// "4000" (megabytes), "4G", "4GB", "4Gi" in bytes; nothing if malformed or beyond 64 bits.
std::optional<std::int64_t> ParseSlurmMemory(std::string_view text);

}  // namespace muster::shapes
