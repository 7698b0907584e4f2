// RestoredJobs: after the database was restored from a backup, nothing that it has runs again
// without a decision (rule D25). Members may have run, ended and removed attempts that the backup
// does not know, so a list cannot prove that a job has not run. On the engine thread only.
#pragma once

#include <deque>
#include <optional>

#include "schedd/engine/jobs/attempts.h"
#include "schedd/model/restore_mark.h"

namespace muster {

class RestoredJobs {
 public:
  /// All must outlive it.
  RestoredJobs(CommitPipeline& commits, LiveJobs& jobs, DispatchRows& rows, Attempts& attempts)
      : commits_(commits), jobs_(jobs), rows_(rows), attempts_(attempts) {}

  /// For a recovery: the mark of the last restore, if there was one.
  void Reset(const std::optional<RestoreMark>& restore);
  /// The engine leads, its world is rebuilt and nothing was ordered yet: attempts that the backup
  /// was about to create are quarantined, and the jobs that are to be held are noted.
  void Begin();
  /// Holds as many of the noted jobs as the open transaction has room for; true if it held one.
  bool HoldSome();
  /// True while some are not held yet: nothing may be decided.
  bool Pending() const { return !to_hold_.empty(); }

 private:
  bool IsOfBackup(const JobRecord& job) const { return job.resource_version <= restore_->last_seq; }
  void Quarantine(const JobPtr& job, const DispatchRow& row);
  void Hold(JobPtr job);
  std::string Since() const;

  CommitPipeline& commits_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  Attempts& attempts_;
  std::optional<RestoreMark> restore_;
  std::deque<JobId> to_hold_;
};

}  // namespace muster
