// BatchCommands: what only batch scripts can be asked (rules B33, B34): suspend and resume, the
// life sign of an allocation's client, and changes after the submission (scontrol update). On the
// engine thread only.
#pragma once

#include "schedd/engine/jobs/dependencies.h"

namespace muster {

class BatchCommands {
 public:
  /// All must outlive it.
  BatchCommands(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
                WaitingJobs& waiting, LiveJobs& jobs, Attempts& attempts, const Arrays& arrays,
                ArrayTasks& array_tasks, Dependencies& dependencies)
      : context_(context),
        commits_(commits),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        arrays_(arrays),
        array_tasks_(array_tasks),
        dependencies_(dependencies) {}

  /// Audited as "update" if it succeeds.
  void Handle(UpdateJobCommand command);
  /// Stops the processes of a running script, which keeps its quota; resume lets them go on. Both
  /// are idempotent.
  Result<JobPtr> Suspend(const JobPtr& job);
  Result<JobPtr> Resume(const JobPtr& job);
  /// The client of an allocation lives: its lease begins anew (limits::kClientLeaseS).
  Result<JobPtr> Keep(const JobPtr& job);
  /// Sends the signal of each suspended job again, because the last one may be lost; the leases of
  /// clients begin anew.
  void RepeatAfterRecovery();

 private:
  Result<JobPtr> Update(const UpdateJobCommand& command);
  Status CheckState(const JobRecord& job, const JobUpdate& update) const;
  void TakeSpec(const JobUpdate& update, JobRecord* draft);
  void TakeQueue(const JobUpdate& update, JobRecord* draft);
  void TakeState(const JobUpdate& update, JobRecord* draft);
  void SetThrottle(JobId array, std::int32_t throttle);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  const Arrays& arrays_;
  ArrayTasks& array_tasks_;
  Dependencies& dependencies_;
};

}  // namespace muster
