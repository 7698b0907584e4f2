// EvictionPace: how soon a job that is evicted again and again may be tried again. The first
// eviction costs nothing (Kueue has no wait there either); each one that comes within a minute of
// the job's last chance to run doubles the wait. Pure: time comes from the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "schedd/base/time.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Counts in memory, so a restart counts anew; a wait under way is in the job's record. Not
/// thread-safe.
class EvictionPace {
 public:
  /// Counts an eviction that is complete at `now`. When the job may be tried again: `now` or later.
  WallTime Note(JobId job, WallTime now);
  /// The job has ended.
  void Forget(JobId job) { rows_.erase(job); }
  std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    WallTime free_at;           // since when it may be tried again
    std::int32_t in_a_row = 0;  // evictions, each soon after the job was free
  };
  std::unordered_map<JobId, Row> rows_;
};

/// A job that is back in its queue and would be tried at once waits until `until`: Requeued=False
/// with what it was evicted for, and requeueAt. Nothing if that is not after `now`, or if it waits
/// for something else anyway.
void HoldBack(JobRecord* job, WallTime until, WallTime now);

/// Until when a waiting job is not tried, as far as time alone keeps it; nullopt if it does not.
std::optional<WallTime> HeldBackUntil(const JobRecord& job);

}  // namespace muster::core
