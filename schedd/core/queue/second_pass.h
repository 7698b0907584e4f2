// SecondPassQueue: workloads that hold quota and wait for what is still open of their placement:
// delayed topology, or a failed node to replace (rule A17). A plain data
// structure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedd/model/job.h"

namespace muster::core {

/// How long try number `iteration` (from 1) waits: 1 s, doubled each time, at most 30 s.
std::int64_t SecondPassDelayUs(std::int32_t iteration);

class SecondPassQueue {
 public:
  /// Queues a workload that needs a second pass, due at `now` plus the delay of its next try. False
  /// if it is here already, or needs none (any more): then it is forgotten.
  bool Offer(JobPtr job, WallTime now);
  /// A newer record of one that is here; it leaves if it needs no second pass any more.
  void Update(const JobPtr& job);
  /// Takes out those that are due, in job-id order. One that is offered again after it failed waits
  /// longer.
  std::vector<JobPtr> TakeDue(WallTime now);
  /// When the next one is due; unset if none waits.
  WallTime NextDue() const;
  /// Forgets it and its tries: it succeeded, or lost its quota.
  void Erase(JobId id);
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    JobPtr job;
    WallTime due;
  };
  std::map<JobId, Waiting> waiting_;
  std::map<JobId, std::int32_t> tries_;
};

}  // namespace muster::core
