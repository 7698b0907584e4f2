// SecondPassQueue: workloads that hold quota and wait for an open part of their placement: a
// delayed topology request, or a failed node to replace (rule A17). A plain data structure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedd/model/job.h"

namespace muster::core {

/// The wait before try number `iteration` (from 1), in microseconds: 1 s, doubled each time, at
/// most 30 s.
std::int64_t SecondPassDelayUs(std::int32_t iteration);

class SecondPassQueue {
 public:
  /// Queues a workload that needs a second pass, due at `now` plus the delay of its next try. False
  /// if it is queued already, or if it needs none (any more) and is forgotten.
  bool Offer(JobPtr job, WallTime now);
  /// Replaces the record of a queued workload; forgets it if it needs no second pass any more.
  void Update(const JobPtr& job);
  /// Takes out all that are due, in job-id order. A workload that is offered again after a failed
  /// try waits longer.
  std::vector<JobPtr> TakeDue(WallTime now);
  /// When the next one is due; unset if none waits.
  WallTime NextDue() const;
  /// Forgets the workload and the number of its tries: it succeeded, or lost its quota.
  void Erase(JobId id);
  std::size_t size() const { return waiting_.size(); }

 private:
  struct WaitingHolder {
    JobPtr job;
    WallTime due;
  };
  std::map<JobId, WaitingHolder> waiting_;
  std::map<JobId, std::int32_t> tries_;
};

}  // namespace muster::core
