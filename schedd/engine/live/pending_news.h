// PendingNews: which changes of a waiting job's reason become events. The sentence of a reason
// contains numbers that change with every heartbeat of a member. The view always shows the latest
// sentence; the history keeps one event for each reason of a job within kQuiet. A change that was
// left out is written when that time is over, if it still holds.
//
// A plain data structure of the engine thread, without a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/result.h"
#include "schedd/base/time.h"

namespace muster {

/// The event that says why a job waits.
inline constexpr char kPendingEvent[] = "JobPending";

class PendingNews {
 public:
  /// In nanoseconds.
  static constexpr std::int64_t kQuiet = 60 * kNanosPerSecond;

  /// True if the job had no event with this reason within kQuiet: the caller writes one, which
  /// counts from `now`. If false, the job is kept for TakeDue.
  bool Tell(JobId job, Reason reason, Monotonic now);
  /// The jobs with a change that was left out and may be written now.
  std::vector<JobId> TakeDue(Monotonic now);
  /// The job changed in substance: its next reason is an event in any case.
  void Forget(JobId job);
  void Clear();

 private:
  using Key = std::pair<JobId, Reason>;
  std::map<Key, Monotonic> told_;
  // The entries of `told_` by time, and entries that `told_` has no longer.
  std::deque<std::pair<Monotonic, Key>> order_;
  std::set<JobId> kept_;
};

}  // namespace muster
