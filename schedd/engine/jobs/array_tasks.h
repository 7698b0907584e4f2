// ArrayTasks: how the waiting tasks of arrays are tried and start. For each record of waiting tasks
// a window of entries, at most limits::kArrayWindow, is in its queue's order; an entry is no job
// and stands for no particular task. A plan that admits one has the lowest waiting index become a
// job. On the engine thread only.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "schedd/core/queue/queue_order.h"
#include "schedd/engine/jobs/arrays.h"
#include "schedd/engine/jobs/attempts.h"
#include "schedd/engine/jobs/job_ids.h"

namespace muster {

class ArrayTasks : public JobFollower {
 public:
  /// All must outlive it.
  ArrayTasks(EngineContext& context, CommitPipeline& commits, WaitingJobs& waiting, LiveJobs& jobs,
             Attempts& attempts, const Arrays& arrays, JobIds& ids)
      : context_(context),
        commits_(commits),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        arrays_(arrays),
        ids_(ids) {}

  /// Forgets all entries, for a recovery.
  void Reset();
  /// True if the id is that of one of its entries.
  bool Owns(JobId entry) const;

  // --- a cycle
  /// Brings the windows of all arrays that changed up to date.
  void Refill();
  /// Drops the heads behind a window of which all entries are heads while more tasks may start:
  /// nobody overtakes the tasks that have no entry yet.
  void CutHeads(std::vector<core::QueueHeads>* heads) const;
  /// A plan admits an entry.
  void Admit(const core::PlannedAdmission& admit);
  /// All admissions of the plan were taken: writes the records of what still waits.
  void Finish();

  /// Queues all entries anew: an edit of the configuration may have made them equal to others.
  void Resync();
  /// Gives some of a record's waiting tasks a record of their own, in the same state, and returns
  /// it; the record itself if these are all its tasks.
  JobPtr Divide(const JobPtr& record, TaskRanges chosen);

  void Enter(const JobPtr& job) override;
  void Change(const JobRecord& before, const JobPtr& job) override;
  void Leave(JobId id) override { Drop(id); }

 private:
  struct Window {
    JobPtr of;  // the record that the entries are copies of
    std::map<std::size_t, JobPtr> entries;  // by slot
  };
  void RefillArray(JobId array);
  void Fill(const JobPtr& record, std::size_t wanted);
  void Drop(JobId record);
  void Note(const JobPtr& job);

  EngineContext& context_;
  CommitPipeline& commits_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  const Arrays& arrays_;
  JobIds& ids_;
  std::map<JobId, Window> windows_;  // by record
  std::set<JobId> changed_;          // arrays
  std::map<JobId, TaskRanges> left_;  // while a plan is carried out: what still waits, by record
};

}  // namespace muster
