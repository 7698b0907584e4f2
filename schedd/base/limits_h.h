// Bounds of requeues and of evictions in a row.
#pragma once

#include <cstdint>

namespace muster::limits {

// Slurm's wait of a requeued batch job: its last run has left its files and ports by then, and a
// script that requeues itself cannot spin.
inline constexpr std::int64_t kRequeueWaitMs = 120'000;
// The longest that annotation muster.io/requeue-wait may name: whoever wants more holds the job.
inline constexpr std::int64_t kRequeueWaitMaxMs = 24LL * 3'600'000;
// An eviction that comes so soon after the job might run again is one in a row: the limit of what
// people call thrashing, and Kueue's own first back-off.
inline constexpr std::int64_t kEvictionRowS = 60;
// The wait of the second eviction in a row; it doubles from there. One second keeps a preempted
// job's return quick.
inline constexpr std::int64_t kEvictionWaitS = 1;
// The longest of these waits: Kueue's backoffBaseSeconds.
inline constexpr std::int64_t kEvictionWaitMaxS = 60;

}  // namespace muster::limits
