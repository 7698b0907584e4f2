// DueTimes: at which time something is due for a job, by one clock. Each job has at most one time.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster {

/// Not thread-safe.
class DueTimes {
 public:
  /// Replaces the time of the job; nullopt: nothing is due any more.
  void Set(JobId job, std::optional<WallTime> due);
  /// Takes the job off whose time came first, if that is `now` or earlier.
  std::optional<JobId> TakeDue(WallTime now);
  /// The earliest time; not set if there is none.
  WallTime Next() const { return times_.empty() ? WallTime{} : times_.begin()->first; }
  void Clear();

 private:
  std::set<std::pair<WallTime, JobId>> times_;
  std::unordered_map<JobId, WallTime> time_of_;
};

}  // namespace muster
