// Dependencies: waiting batch scripts and the jobs that they depend on (rule B31). An index leads
// from a parent to its dependents, so an end costs what depends on it and no look at other jobs.
//
// A change of a parent only notes its dependents; Fire judges them in the next step, some at a
// time. On the engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedd/engine/jobs/array_tasks.h"
#include "schedd/engine/jobs/attempts.h"
#include "schedd/engine/jobs/parents.h"

namespace muster {

class Dependencies : public JobFollower {
 public:
  /// All must outlive it.
  Dependencies(EngineContext& context, CommitPipeline& commits, LiveJobs& jobs, Attempts& attempts,
               const Arrays& arrays, ArrayTasks& array_tasks)
      : context_(context),
        commits_(commits),
        jobs_(jobs),
        attempts_(attempts),
        arrays_(arrays),
        array_tasks_(array_tasks) {}

  /// Forgets everything, for a recovery.
  void Reset();
  /// Judges the dependencies of a job that is new, or has new ones, as far as memory knows its
  /// parents and the database has what it knows. The rest is judged when the job is in memory
  /// (Fire), and a job that can never start is cancelled then, if it asked for that.
  void JudgeNew(JobRecord* job);
  /// kInvalidArgument if these dependencies of the job would make a circle.
  Status CheckCircle(const JobRecord& job, const std::vector<Dependency>& wanted) const;
  /// Judges some of the dependents that are due, as many as the open commit has room for; false if
  /// none was. Those about whose parents the database does not answer are due a second later.
  bool Fire();
  /// When time alone meets the next dependency (after:ID+MINUTES); not set if none waits for it.
  WallTime Next() const { return timed_.empty() ? WallTime{} : timed_.begin()->first; }
  /// True while dependents are due.
  bool Pending() const { return !due_.empty(); }

  void Enter(const JobPtr& job) override;
  void Change(const JobRecord& before, const JobPtr& job) override;
  void Leave(JobId id) override;

 private:
  using NameKey = std::uint64_t;  // a hash of user and display name

  // What one dependent that waits by index knows of its parent's tasks.
  struct Indexes {
    // Tasks that ended, and are not decided yet.
    std::vector<std::int32_t> ok, failed;
    TaskRanges failed_ranges;  // in any order, as `ranges`
    // While the parent's records are read: the last one that was read, and the tasks so far.
    bool read = false;
    JobId after;
    std::vector<std::int32_t> single;
    TaskRanges ranges;
    void TakeEnd(const JobRecord& job);
    void TakeRecord(const JobRecord& job);
  };
  using IndexKey = std::pair<JobId, JobId>;  // parent array, dependent

  void Register(const JobRecord& job, bool present);
  void NoteParent(const JobRecord& parent);
  void SetTimer(JobId id, WallTime due);
  bool EarlierLeft(const JobRecord& job) const;
  /// Whether the database has what memory says of a parent that is in memory.
  bool IsDurable(JobId parent) const;
  /// The verdict on one dependency of the job: kWaits also if a parent is not known. `parents`:
  /// null for memory alone.
  DependencyJudgement JudgeOne(const JobRecord& job, Dependency* one, Parents* parents);
  bool Judge(JobRecord* job, Parents* parents, WallTime* due);
  void JudgeDependent(const JobPtr& job, Parents* parents);
  Result<std::optional<Parent>> Ask(JobId dependent, const Dependency& one, Parents* parents);

  // --- array_dependencies.cc
  /// Keeps `indexes_` in step with a dependent; null: it did not wait, or waits no more.
  void FollowIndexes(JobId id, const JobRecord* before, const JobRecord* after);
  /// A task of an array has moved on.
  void NoteIndex(const JobRecord& parent);
  /// Gives those waiting tasks of an array whose aftercorr is decided a record of their own.
  /// Returns the newest record of the array; the same one if nothing is decided.
  JobPtr JudgeByIndex(const JobPtr& job, Parents* parents);
  /// Reads the next page of the parent's records; true when all are read with it.
  bool ReadIndexes(JobId dependent, JobId array, Parents* parents);
  bool Decide(const Dependency& dependency, const TaskRanges& ranges, DependencyVerdict verdict,
              JobPtr* record);

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  const Arrays& arrays_;
  ArrayTasks& array_tasks_;
  // By the id that a dependency names: a job's, or an array's.
  std::unordered_map<JobId, std::set<JobId>> dependents_;
  // Batch scripts that have not ended, and waiting singletons, by name.
  std::set<std::pair<NameKey, JobId>> by_name_, singletons_;
  std::set<std::pair<WallTime, JobId>> timed_;
  std::unordered_map<JobId, WallTime> timer_of_;
  std::set<JobId> due_;
  // Of them: asked for again in the next step, and in a second, because parents are not known yet.
  std::set<JobId> again_, later_;
  /// Number of the last event when a job left memory: its end may not be in the store before that.
  std::int64_t left_at_ = 0;
  std::map<IndexKey, Indexes> indexes_;
};

/// aftercorr of the waiting tasks of an array: each waits for the task with its own index, if the
/// parent is an array.
bool IsByIndex(const JobRecord& job, const Dependency& one);

}  // namespace muster
