// PendingNews: which changes of a waiting job's reason are worth an event. What keeps a job waiting
// is described by numbers that change with every heartbeat of a member; the view always shows the
// latest, but history keeps one event for each reason of a job within kQuiet. What was left out is
// written when that time is over, if it is still true.
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

/// The event that tells why a job waits.
inline constexpr char kPendingEvent[] = "JobPending";

class PendingNews {
 public:
  static constexpr std::int64_t kQuiet = 60 * kNanosPerSecond;

  /// True if there was no event of this job with this reason within kQuiet: one is to be written,
  /// and is counted as written now. Else the job is kept for TakeDue.
  bool Tell(JobId job, Reason reason, Monotonic now);
  /// Jobs that were kept and may be told of now.
  std::vector<JobId> TakeDue(Monotonic now);
  /// The job changed otherwise: its next reason is news.
  void Forget(JobId job);
  void Clear();

 private:
  using Key = std::pair<JobId, Reason>;
  std::map<Key, Monotonic> told_;
  std::deque<std::pair<Monotonic, Key>> order_;  // of told_, with entries that are no longer true
  std::set<JobId> kept_;
};

}  // namespace muster
