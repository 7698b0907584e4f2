// Bounds of what keeps batch scripts waiting (rules B31 to B34).
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

/// Attempts of a batch script that may be lost with their members before it is held
/// (RequeueLimit), as Slurm's MaxBatchRequeue.
inline constexpr std::int64_t kLostAttemptsMost = 5;
/// Partitions of `-p a,b`: each costs an entry in a queue while the job waits.
inline constexpr std::size_t kPartitionsOfJob = 16;
/// How long the client of an allocation counts as alive after it has said so.
inline constexpr std::int64_t kClientLeaseS = 30;
/// Jobs whose dependencies one step of the engine judges: some milliseconds.
inline constexpr std::size_t kDependentsAtOnce = 512;
/// How deep circles of dependencies are looked for, as Slurm's max_depend_depth.
inline constexpr int kDependencyDepth = 10;
/// A running script whose limit was lowered is ended this long after the limit, so that its
/// member's own clock, where it knows the limit, goes first.
inline constexpr std::int64_t kChangedLimitGraceS = 1;

}  // namespace muster::limits
