// Retention: ended jobs leave memory after a while; with ttlSecondsAfterFinished, or by
// objectRetentionPolicies (rule A54), they and their objects are deleted; idempotency keys are
// forgotten after a day. On the engine thread only.
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

  /// Forgets all times, for a recovery.
  void Reset();
  /// The job has ended, and its end is durable: its times are counted from its end.
  void Schedule(const JobRecord& job);
  /// Recovery found a row of this job and not the job: it ended long ago.
  void AddForgotten(JobId id) { forgotten_.push_back(id); }
  /// Retires and deletes jobs that are due, a bounded number; false if none was.
  bool Fire();
  /// Reads some jobs that ended before this daemon started; false if none is left or the database
  /// does not answer.
  bool Adopt();
  /// When Fire has something to do.
  Monotonic Next() const;

 private:
  // An end of a job; a script that is requeued afterwards has another one later.
  struct EndedJob {
    JobId id;
    WallTime end_time;
    bool IsStill(const JobRecord& job) const {
      return IsTerminal(job.state) && job.end_time == end_time;
    }
    auto operator<=>(const EndedJob&) const = default;
  };

  bool FireTtls(Monotonic now);
  bool FireRetirements(Monotonic now);
  void Retire(const EndedJob& ended);
  bool AdoptForgotten();
  bool AdoptFinished();

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  JobCommands& commands_;
  // When each ended job is to be deleted.
  std::multimap<Monotonic, EndedJob> ttls_;
  // When an ended job leaves memory, about in order.
  std::deque<std::pair<Monotonic, EndedJob>> retirements_;
  // When old idempotency keys are forgotten next.
  Monotonic next_forgetting_;
  // Jobs of AddForgotten that were not read yet.
  std::deque<JobId> forgotten_;
  // The states whose ended jobs are still to be read, each with the id after which the next page
  // begins.
  std::deque<std::pair<JobState, JobId>> finished_after_;
};

}  // namespace muster
