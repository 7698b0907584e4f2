// EvictionPace: waits of 0, 1 s, 2 s, 4 s ... at most limits::kEvictionWaitMaxS for evictions in a
// row (rule A51). An eviction is in a row with the one before if it comes less than
// limits::kEvictionRowS after the job was allowed to try again; a job that ran longer starts over
// at 0. Kueue has no such pace; it is Muster's own guard against two jobs that evict each other for
// ever.
#include "schedd/core/preempt/eviction_pace.h"

#include <algorithm>
#include <string>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::core {
namespace {

// The first eviction in a row waits 0, the second 1 s, then twice as long each time.
std::int64_t WaitMicros(std::int32_t in_a_row) {
  std::int64_t wait_s = in_a_row > 1 ? limits::kEvictionWaitS : 0;
  for (std::int32_t i = 2; i < in_a_row && wait_s < limits::kEvictionWaitMaxS; ++i) wait_s *= 2;
  return std::min(wait_s, limits::kEvictionWaitMaxS) * kMicrosPerSecond;
}

}  // namespace

WallTime EvictionPace::Note(JobId job, WallTime now) {
  Row& row = rows_[job];
  const bool soon = row.free_at.set() && SaturatingSub(now.us, row.free_at.us) <
                                             limits::kEvictionRowS * kMicrosPerSecond;
  row.in_a_row = soon ? row.in_a_row + 1 : 1;
  row.free_at = {SaturatingAdd(now.us, WaitMicros(row.in_a_row))};
  return row.free_at;
}

void HoldBack(JobRecord* job, WallTime until, WallTime now) {
  if (until <= now || !IsTrue(*job, "Requeued")) return;
  const Condition* evicted = FindCondition(*job, "Evicted");
  const Condition why = evicted != nullptr ? *evicted : *FindCondition(*job, "Requeued");
  SetCondition(job, "Requeued", false, why.reason, why.message, now);
  DelayRequeue(job, until);
}

// changes::BeginAt sets the two times equal; a later back-off has moved requeueAt on.
bool WaitsForBegin(const JobRecord& job) {
  const std::optional<WallTime>& begin_at = BatchStateOf(job).begin_at;
  return begin_at && HeldBackUntil(job) == begin_at;
}

std::optional<WallTime> HeldBackUntil(const JobRecord& job) {
  const Condition* requeued = FindCondition(job, "Requeued");
  const auto& again_at = StateOf(job).requeue_at;
  if (requeued == nullptr || !again_at) return again_at;
  // A requeueAt before the job returned to its queue belongs to an earlier wait.
  const bool waits = !requeued->status && *again_at > requeued->last_transition;
  return waits ? again_at : std::nullopt;
}

}  // namespace muster::core
