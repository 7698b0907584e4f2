// Requeue: why a workload goes back to its queue after a cycle, when its back-off is over, what of
// it matters to the queue, and how long the next back-off is (rules A15, A51, A52). Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "schedd/core/plan/assignment.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Why it was not admitted, as its queue needs to know it (rule A15).
enum class RequeueReason : std::uint8_t {
  kGeneric,
  kFailedAfterNomination,  // it had its turn and was skipped: another one came first
  kNoFit,
  kPreemptionNoCandidates,
  kPreemptionGated,
  kNamespaceMismatch,
  kPendingPreemption,  // its victims are on their way out
  kPendingMigration,   // a less favorable variant of it is on its way out
  kPreemptionFailed,
  /// Ours: its LocalQueue or ClusterQueue takes nothing, so Kueue would not have it in a queue at
  /// all. Everything of the same namespace and LocalQueue waits with it.
  kGated,
};

/// True if it goes straight back among the active ones, whatever the rest (rule A15).
bool RequeuesAtOnce(RequeueReason reason, bool strict_fifo);

/// Where the flavor search of a waiting workload ended, and on which state it ran.
struct LastAssignment {
  ScanPosition tried;
  std::int64_t generation = 0;       // allocatable generation of its ClusterQueue
  std::int64_t cycle = 0;            // the scheduling cycle that left it
  std::vector<ScanPosition> before;  // where it ended since it last began with the first flavors
  /// True if some flavor was not looked at yet.
  bool Pending() const;
  /// True if the next search has to begin with the first flavors: all were looked at, or it stands
  /// where it stood before. Kueue would go round for ever where the scans of several resources are
  /// out of step, and keep all others of the queue waiting. Also after 256 searches in a row.
  bool Ended() const;
};
using LastAssignmentPtr = std::shared_ptr<const LastAssignment>;

/// True if nothing keeps the workload from being tried at `now`: its condition Requeued is not
/// False and its requeueAt has come.
bool BackoffExpired(const JobRecord& job, WallTime now);

/// True if `a` and `b`, two records of one workload, differ in nothing that could make a parked
/// workload worth another try: spec, boost, reclaimed pods, gates, conditions Evicted and Requeued.
bool EqualToQueue(const JobRecord& a, const JobRecord& b);

/// True if they differ in nothing that the generation of a Kueue Workload counts.
bool EqualSpec(const JobRecord& a, const JobRecord& b);

/// The wait before try number `count` (from 1): min(base * 2^(count-1) * (1 + jitter), max), in
/// microseconds. `jitter` is in millionths, 0 to 100 (rule A52).
std::int64_t BackoffMicros(const WaitForPodsReady& settings, std::int32_t count,
                           std::int32_t jitter_millionths);

}  // namespace muster::core
