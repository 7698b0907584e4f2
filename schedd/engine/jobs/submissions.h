// Submissions: whatever arrives together becomes one Store::Accept; a job enters its queue when it
// is durable. On the engine thread only.
#pragma once

#include <deque>
#include <vector>

#include "schedd/engine/jobs/resource_checks.h"

namespace muster {

class Submissions {
 public:
  /// All must outlive it.
  Submissions(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
              WaitingJobs& waiting, LiveJobs& jobs, ResourceChecks& checks)
      : context_(context),
        commits_(commits),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        checks_(checks) {}

  void Handle(SubmitCommand command);
  /// Sends what has been gathered.
  void Send();
  void Complete(AcceptDone done);
  /// Answers what was gathered and never sent.
  void FailWaiting(const Error& error);
  /// `last`: the highest id that was given to a job.
  void Reset(JobId last) { last_job_id_ = last; }

 private:
  /// The submissions of one Store::Accept, and whom to answer. The store gets `jobs`; the rest
  /// stays here.
  struct Batch {
    struct Group {
      Callback<std::vector<Result<SubmittedJob>>> done;
      std::size_t first = 0, count = 0;
      std::size_t refused = 0;  // the last of the command, for which the queue had no room
    };
    std::vector<NewJob> jobs;
    std::vector<JobPtr> records;
    std::vector<Group> groups;
    std::int64_t config_version = 0;  // whose LocalQueues resolved their ClusterQueues
    bool built_on_older = false;      // some were made by an older one
    Monotonic sent{};
  };

  std::size_t RoomFor(const SubmitCommand& command) const;
  Result<SubmittedJob> Adopt(const JobPtr& record, const Result<AcceptedJob>& outcome,
                             bool stale_config);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  ResourceChecks& checks_;
  Batch gathering_;
  std::deque<Batch> sent_;
  JobId last_job_id_;
};

}  // namespace muster
