// SecondPassQueue (rule A17): waits by number of tries. TakeDue keeps the number, so that the next
// Offer of the same workload waits longer; Erase resets it. Few workloads need a second pass at a
// time, so a walk over all of them is cheap.
#include "schedd/core/queue/second_pass.h"

#include <algorithm>

#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr std::int64_t kFirstDelayS = 1;
constexpr std::int64_t kMostDelayS = 30;

}  // namespace

std::int64_t SecondPassDelayUs(std::int32_t iteration) {
  std::int64_t delay = kFirstDelayS;
  for (std::int32_t i = 1; i < iteration && delay < kMostDelayS; ++i) delay *= 2;
  return std::min(delay, kMostDelayS) * kMicrosPerSecond;
}

// A workload that is queued already keeps its time.
bool SecondPassQueue::Offer(JobPtr job, WallTime now) {
  const JobId id = job->id;
  if (!NeedsSecondPass(*job)) {
    Erase(id);
    return false;
  }
  if (waiting_.contains(id)) return false;
  const std::int64_t delay = SecondPassDelayUs(++tries_[id]);
  waiting_[id] = {std::move(job), now.Plus(delay)};
  return true;
}

void SecondPassQueue::Update(const JobPtr& job) {
  const auto found = waiting_.find(job->id);
  if (found == waiting_.end()) return;
  if (NeedsSecondPass(*job)) {
    found->second.job = job;
  } else {
    Erase(job->id);
  }
}

std::vector<JobPtr> SecondPassQueue::TakeDue(WallTime now) {
  std::vector<JobPtr> due;
  std::erase_if(waiting_, [&](const auto& entry) {
    if (entry.second.due > now) return false;
    due.push_back(entry.second.job);
    return true;
  });
  return due;
}

WallTime SecondPassQueue::NextDue() const {
  WallTime next;
  for (const auto& [id, waiting] : waiting_) {
    if (!next.set() || waiting.due < next) next = waiting.due;
  }
  return next;
}

void SecondPassQueue::Erase(JobId id) {
  waiting_.erase(id);
  tries_.erase(id);
}

}  // namespace muster::core
