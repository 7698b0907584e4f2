// ResourceChecks: what a waiting job's pods ask for depends on LimitRanges and RuntimeClasses (rule
// A5). It is measured at submission; when one of these objects changes, waiting jobs are measured
// again, some a step, because their manifests have to be read. On the engine thread only.
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

  void Clear() { due_.clear(); }
  /// The waiting jobs of these namespaces, or all, are to be measured again.
  void Recheck(const std::set<std::string>& namespaces, bool all);
  /// A daemon that died may not have come to the end of it.
  void RecheckAfterRecovery();
  /// A job that was measured by an older configuration was accepted.
  void RecheckNew(const JobRecord& job);
  /// Measures some; false if there was nothing to do, or the database is away.
  bool Fire();
  /// True while some are to be measured: nothing is decided meanwhile.
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
