// Why a workload goes back to its queue after a cycle, when its back-off is over, which changes of
// its record matter to the queue, and how long the next back-off is (rules A15, A51, A52). Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "schedd/core/plan/assignment.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Why a workload was not admitted, as far as its queue needs to know (rule A15).
enum class RequeueReason : std::uint8_t {
  kGeneric,
  kFailedAfterNomination,  // nominated, then skipped because an earlier entry took the room
  kNoFit,
  kPreemptionNoCandidates,
  kPreemptionGated,
  kNamespaceMismatch,
  kPendingPreemption,  // its victims are being stopped
  kPendingMigration,   // its variant on a worse flavor is being stopped
  kPreemptionFailed,
  /// Muster's own: the LocalQueue or ClusterQueue takes no workloads, so Kueue would not have it in
  /// a queue at all. All workloads of the same namespace and LocalQueue are parked with it.
  kGated,
};

/// True if the workload goes straight back among the active ones, whatever else holds (rule A15).
bool RequeuesAtOnce(RequeueReason reason, bool strict_fifo);

/// Where the last flavor search of a waiting workload ended, and the state that it ran on.
struct LastAssignment {
  ScanPosition tried;
  std::int64_t generation = 0;       // allocatable generation of its ClusterQueue
  std::int64_t cycle = 0;            // the scheduling cycle of that search
  std::vector<ScanPosition> before;  // the ends of the searches since it last started over
  /// True if some flavor was not looked at yet.
  bool Pending() const;
  /// True if the next search starts over with the first flavors: all were looked at, or the search
  /// ended where an earlier one did, or 256 searches in a row have resumed. Kueue goes on for ever
  /// if the scans of several resources are out of step, and the queue's others wait (rule A15).
  bool Ended() const;
};
using LastAssignmentPtr = std::shared_ptr<const LastAssignment>;

/// True if nothing keeps the workload from being tried at `now`: its condition Requeued is not
/// False and its requeueAt has come. The time of --begin is not judged here: whoever knows the
/// host's clock ends that wait in the record (changes::BackoffFinished).
bool BackoffExpired(const JobRecord& job, WallTime now);

/// True if `a` and `b`, two records of one workload, differ in nothing that could make a parked
/// workload worth another try: spec, boost, reclaimable pods, gates, conditions Evicted and
/// Requeued.
bool EqualToQueue(const JobRecord& a, const JobRecord& b);

/// True if they differ in nothing that the generation of a Kueue Workload object counts.
bool EqualSpec(const JobRecord& a, const JobRecord& b);

/// The wait before try number `count` (from 1): min(base * 2^(count-1) * (1 + jitter), max), in
/// microseconds. `jitter` is in millionths, 0 to 100 (rule A52).
std::int64_t BackoffMicros(const WaitForPodsReady& settings, std::int32_t count,
                           std::int32_t jitter_millionths);

}  // namespace muster::core
