// ResourceChecks: the requests of waiting jobs under LimitRanges and RuntimeClasses (rule A5).
// Submissions measure requests; when one of these objects changes, waiting jobs are measured again,
// some in each step, because their manifests have to be read from the store. On the engine thread
// only.
#pragma once

#include <deque>
#include <set>
#include <string>

#include "schedd/engine/live/live_jobs.h"

namespace muster {

class ResourceChecks {
 public:
  /// All must outlive it.
  ResourceChecks(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
                 WaitingJobs& waiting, LiveJobs& jobs)
      : context_(context), commits_(commits), config_(config), waiting_(waiting), jobs_(jobs) {}

  /// Forgets which jobs are due, for a recovery.
  void Clear() { due_.clear(); }
  /// Marks the waiting jobs of these namespaces, or all of them, as due.
  void Recheck(const std::set<std::string>& namespaces, bool all);
  /// Marks every job as due that a daemon which died may have left unmeasured.
  void RecheckAfterRecovery();
  /// Marks a job that was accepted and was measured by an older configuration.
  void RecheckNew(const JobRecord& job);
  /// Measures some jobs; false if none was due, or the database did not answer.
  bool Fire();
  /// True while jobs are due: no cycle decides meanwhile.
  bool Pending() const { return !due_.empty(); }

 private:
  void TakeRequests(const JobPtr& job, const std::string& manifest);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  std::deque<JobId> due_;
};

}  // namespace muster
