// Retention: ended jobs leave memory after a while, and with ttlSecondsAfterFinished, or by
// objectRetentionPolicies, they and their objects go; idempotency keys are forgotten after a day.
// On the engine thread only.
#pragma once

#include <deque>
#include <map>

#include "schedd/engine/jobs/job_commands.h"

namespace muster {

class Retention {
 public:
  /// All must outlive it.
  Retention(EngineContext& context, CommitPipeline& commits, LiveJobs& jobs, Attempts& attempts,
            JobCommands& commands)
      : context_(context),
        commits_(commits),
        jobs_(jobs),
        attempts_(attempts),
        commands_(commands) {}

  void Reset();
  /// The job has ended, and that is durable.
  void Schedule(const JobRecord& job);
  /// An attempt of this job, whose record was not loaded, has objects on a member.
  void AddForgotten(JobId id) { forgotten_.push_back(id); }
  /// Retires and deletes what is due, some at once; false if nothing was.
  bool Fire();
  /// Reads some of the jobs that ended long before this daemon started, whose TTL or removal goes
  /// on; false if there is none left.
  bool Adopt();
  Monotonic Next() const;

 private:
  bool FireTtls(Monotonic now);
  bool FireRetirements(Monotonic now);
  void Retire(JobId id);
  bool AdoptForgotten();
  bool AdoptFinished();

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  JobCommands& commands_;
  std::multimap<Monotonic, JobId> ttls_;  // when an ended job's object is to be deleted
  // When an ended job leaves memory, about in order.
  std::deque<std::pair<Monotonic, JobId>> retirements_;
  Monotonic next_forgetting_;  // of idempotency keys
  std::deque<JobId> forgotten_;
  // Ended jobs that are yet to be looked at, by state, and the id after which the next ones begin.
  std::deque<std::pair<JobState, JobId>> finished_after_;
};

}  // namespace muster
