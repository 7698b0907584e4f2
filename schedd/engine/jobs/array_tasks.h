// ArrayTasks: how the waiting tasks of arrays are tried and start. For each record of waiting tasks
// a window of entries, at most limits::kArrayWindow, is in its queue's order, and another one in
// that of each further partition (`-p a,b`); an entry is no job and stands for no particular task.
// A plan that admits one has the lowest waiting index become a job, in the entry's partition. On
// the engine thread only.
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
  ArrayTasks(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
             WaitingJobs& waiting, LiveJobs& jobs, Attempts& attempts, const Arrays& arrays,
             JobIds& ids)
      : context_(context),
        commits_(commits),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        arrays_(arrays),
        ids_(ids) {}

  /// Forgets all entries, for a recovery.
  void Reset();
  /// True if the id is that of one of its entries.
  bool Owns(JobId entry) const;
  /// True for an entry of an array in the partition of its record: its reason is the record's.
  bool ShowsItsRecord(const JobRecord& entry) const;

  // --- a cycle
  /// Brings the windows of all arrays that changed up to date.
  void Refill();
  /// Drops the heads behind a window of which all entries are heads while more tasks may start:
  /// nobody overtakes the tasks that have no entry yet.
  void CutHeads(std::vector<core::QueueHeads>* heads) const;
  /// A plan admits an entry. No task starts if those that entries in other partitions have started
  /// were the last that may; what the plan meant for it is given back.
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
  void Leave(JobId id) override;

 private:
  struct Window {
    JobPtr of;  // the record, as it is in the partition, that the entries are copies of
    std::map<std::size_t, JobPtr> entries;  // by slot
  };
  // Of one record, by the place of the partition in its list, from 1; 0: the record's own.
  using Windows = std::map<std::size_t, Window>;

  void RefillArray(JobId array);
  std::vector<JobPtr> PlacesOf(const JobPtr& record) const;
  void Fill(const JobRecord& record, const std::vector<JobPtr>& places, std::size_t wanted);
  void FillWindow(const JobRecord& record, const JobPtr& place, std::size_t wanted, Window* window);
  void Clear(Window* window);
  void Drop(JobId record);
  void Note(const JobPtr& job);
  JobPtr InPartitionOf(const JobPtr& record, const JobRecord& entry) const;

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  const Arrays& arrays_;
  JobIds& ids_;
  std::map<JobId, Windows> windows_;  // by record
  std::set<JobId> several_;           // waiting records that name several partitions
  std::set<JobId> changed_;           // arrays
  std::map<JobId, TaskRanges> left_;  // while a plan is carried out: what still waits, by record
};

}  // namespace muster
