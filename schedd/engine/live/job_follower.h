// JobFollower: an owner whose state follows from the records of the jobs in memory. LiveJobs calls
// it with every change.
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
  /// `job` replaces the record `before`; it is written with the open transaction.
  virtual void Change(const JobRecord& before, const JobPtr& job) = 0;
  /// An ended job leaves memory: it waits for nothing and holds no quota.
  virtual void Leave(JobId) {}
  /// The record differs only in its reason, message or counts (LiveJobs::PutSoft).
  virtual void ChangeSoft(const JobPtr&) {}
};

}  // namespace muster
