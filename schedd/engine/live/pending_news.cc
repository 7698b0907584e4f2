// For each (job, reason), `told_` has the time of the last event. `order_` has the same entries in
// the order of their times, so TakeDue looks at the oldest alone; entries of Forget are not
// searched for in it but skipped when they come up, because `told_` no longer has their time. A job
// in `kept_` has a reason that was left out. When the quiet time of any of its reasons is over, the
// job is given back once, and the caller writes its reason as it is then.
#include "schedd/engine/live/pending_news.h"

namespace muster {

// The quiet time counts from the event, not from the last try, so a reason that changes back and
// forth is written once a minute and not never.
bool PendingNews::Tell(JobId job, Reason reason, Monotonic now) {
  const auto found = told_.find({job, reason});
  if (found != told_.end() && now - found->second < kQuiet) {
    kept_.insert(job);
    return false;
  }
  kept_.erase(job);
  told_[{job, reason}] = now;
  order_.emplace_back(now, Key{job, reason});
  return true;
}

std::vector<JobId> PendingNews::TakeDue(Monotonic now) {
  std::vector<JobId> due;
  for (; !order_.empty() && now - order_.front().first >= kQuiet; order_.pop_front()) {
    const auto& [at, key] = order_.front();
    const auto found = told_.find(key);
    if (found == told_.end() || found->second != at) continue;
    told_.erase(found);
    if (kept_.erase(key.first) > 0) due.push_back(key.first);
  }
  return due;
}

// The keys of a job stand together in `told_`; Reason{} is the smallest.
void PendingNews::Forget(JobId job) {
  kept_.erase(job);
  const auto begin = told_.lower_bound({job, Reason{}});
  auto end = begin;
  while (end != told_.end() && end->first.first == job) ++end;
  told_.erase(begin, end);
}

void PendingNews::Clear() {
  told_.clear();
  order_.clear();
  kept_.clear();
}

}  // namespace muster
