#include "schedd/engine/live/pending_news.h"

namespace muster {

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
