// EvictionPace: the back-off of a job that is evicted again and again (rule A51). The first
// eviction costs no wait, as in Kueue; each further one that comes within a minute of the job's
// last chance to run doubles the wait. Pure: the caller gives the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "schedd/base/time.h"
#include "schedd/model/job.h"

namespace muster::core {

/// The counts are in memory only, so a restart begins anew; a wait that has begun is in the job's
/// record. Not thread-safe.
class EvictionPace {
 public:
  /// Counts an eviction that is complete at `now`. Returns when the job may be tried again: `now`
  /// or later.
  WallTime Note(JobId job, WallTime now);
  /// To be called when the job has ended.
  void Forget(JobId job) { rows_.erase(job); }
  std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    WallTime free_at;           // when the job might be tried again after its last eviction
    std::int32_t in_a_row = 0;  // evictions so far, each soon after free_at
  };
  std::unordered_map<JobId, Row> rows_;
};

/// Makes a job that is back in its queue wait until `until`: sets Requeued=False with the reason of
/// its eviction, and requeueAt. No-op if `until` is not after `now` or if the job waits for
/// something else already (Requeued is not True).
void HoldBack(JobRecord* job, WallTime until, WallTime now);

/// True if what keeps a waiting job is the time of --begin: an absolute time, which is judged by
/// the host's wall clock (Clock::CalendarNow). All other waits end by Clock::WallNow.
bool WaitsForBegin(const JobRecord& job);

/// The time before which a waiting job is not tried, if only time keeps it; nullopt if nothing
/// does.
std::optional<WallTime> HeldBackUntil(const JobRecord& job);

}  // namespace muster::core
