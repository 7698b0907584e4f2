// Partitions: waiting batch scripts under the limits of their LocalQueue (rule B29). When the
// properties of a queue change, its waiting scripts are judged again, and all when the declared
// machines change, some in each step. On the
// engine thread only.
#pragma once

#include <deque>

#include "schedd/engine/live/live_jobs.h"

namespace muster {

class Partitions {
 public:
  /// All must outlive it.
  Partitions(CommitPipeline& commits, const LiveConfig& config, LiveJobs& jobs)
      : commits_(commits), config_(config), jobs_(jobs) {}

  /// Forgets what it has seen, for a recovery: everything is judged again.
  void Reset();
  /// Judges a script that was accepted under an older configuration.
  void JudgeNew(JobId id) { due_.push_back(id); }
  /// Judges some jobs; false if none was due.
  bool Fire();

 private:
  void Judge(const JobPtr& job);

  CommitPipeline& commits_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  ConfigPtr seen_;  // by which all were judged, or are due; null: none yet
  std::deque<JobId> due_;
};

}  // namespace muster
