// JobFollower: something that is kept in step with the records of jobs in memory.
#pragma once

#include "schedd/model/job.h"

namespace muster {

/// Called on the engine thread, after the record has taken its place in LiveJobs, in the order in
/// which followers were added.
class JobFollower {
 public:
  virtual ~JobFollower() = default;
  /// A job comes into memory: accepted, read by a recovery, or read again for a command.
  virtual void Enter(const JobPtr& job) = 0;
  /// A record takes the place of another; it is written with the open transaction.
  virtual void Change(const JobRecord& before, const JobPtr& job) = 0;
  /// A job that has ended leaves memory: it waits for nothing and holds nothing.
  virtual void Leave(JobId) {}
  /// Only its reason or its counts are others than before.
  virtual void ChangeSoft(const JobPtr&) {}
};

}  // namespace muster
