// JobCommands: cancel, hold, release, requeue and delete (rule B25), for users and for the engine's
// own deletions; array_commands.cc has them for tasks of arrays; suspend, resume and keep are
// BatchCommands'. On the engine thread only.
#pragma once

#include <string>

#include "schedd/engine/jobs/array_tasks.h"
#include "schedd/engine/jobs/batch_commands.h"

namespace muster {

class JobCommands {
 public:
  /// All must outlive it.
  JobCommands(EngineContext& context, CommitPipeline& commits, LiveJobs& jobs, Attempts& attempts,
              BatchCommands& batch, const Arrays& arrays, ArrayTasks& array_tasks)
      : context_(context),
        commits_(commits),
        jobs_(jobs),
        attempts_(attempts),
        batch_(batch),
        arrays_(arrays),
        array_tasks_(array_tasks) {}

  void Handle(JobCommand command);
  /// Begins the deletion of a job in any state; its message names `by`. Returns the newest record.
  JobPtr Delete(const JobPtr& job, const std::string& by);
  /// The job, from the store if it has left memory; kNotFound if there is none.
  Result<JobPtr> FindOrLoad(JobId id);

 private:
  Result<JobPtr> ChangeJob(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Cancel(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Hold(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Release(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> RunAgain(const JobCommand& command, const JobPtr& job);
  JobPtr MarkHold(const JobCommand& command, const JobPtr& job);
  Result<JobPtr> Requeue(const JobCommand& command, const JobPtr& job);

  // --- array_commands.cc
  Result<JobPtr> ChangeTasks(const JobCommand& command);
  Error NoTaskLeft(const JobCommand& command);

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  BatchCommands& batch_;
  const Arrays& arrays_;
  ArrayTasks& array_tasks_;
};

}  // namespace muster
