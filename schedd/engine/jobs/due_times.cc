#include "schedd/engine/jobs/due_times.h"

namespace muster {

void DueTimes::Set(JobId job, std::optional<WallTime> due) {
  const auto known = time_of_.find(job);
  if (known != time_of_.end()) {
    if (due && known->second == *due) return;
    times_.erase({known->second, job});
    time_of_.erase(known);
  }
  if (!due) return;
  times_.emplace(*due, job);
  time_of_.emplace(job, *due);
}

std::optional<JobId> DueTimes::TakeDue(WallTime now) {
  if (times_.empty() || times_.begin()->first > now) return std::nullopt;
  const JobId job = times_.begin()->second;
  times_.erase(times_.begin());
  time_of_.erase(job);
  return job;
}

void DueTimes::Clear() {
  times_.clear();
  time_of_.clear();
}

}  // namespace muster
