// PartitionProperties: what makes a LocalQueue a partition of Slurm. Plain values.
#pragma once

#include <cstdint>

namespace muster {

/// Properties of a LocalQueue as a partition of Slurm (annotations muster.io/partition-*; rule
/// B29). 0: no limit, or none given.
struct PartitionProperties {
  enum class State : std::uint8_t {
    kUp,        // takes jobs and starts them
    kDown,      // takes jobs and starts none
    kDrain,     // takes no jobs; those it has start
    kInactive,  // takes no jobs and starts none
  };
  bool is_default = false;  // -default: of the namespace
  State state = State::kUp;
  std::int64_t default_time_s = 0, max_time_s = 0;
  std::int32_t min_nodes = 0, max_nodes = 0;
  std::int64_t default_mem_per_cpu_mb = 0, max_mem_per_cpu_mb = 0;
  std::int32_t tier = 1;  // partitions of a higher tier are tried first
  bool operator==(const PartitionProperties&) const = default;
};

}  // namespace muster
