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

namespace muster {

class Dependencies : public JobFollower {
 public:
  /// All must outlive it.
  Dependencies(EngineContext& context, CommitPipeline& commits, LiveJobs& jobs, Attempts& attempts,
               ArrayTasks& array_tasks)
      : context_(context),
        commits_(commits),
        jobs_(jobs),
        attempts_(attempts),
        array_tasks_(array_tasks) {}

  /// Forgets everything, for a recovery.
  void Reset();
  /// Marks all dependents as due: the daemon that died may not have judged them.
  void JudgeAllAfterRecovery();
  /// Judges the dependencies of a job that is new, or has new ones, with all that the store knows
  /// of its parents. One that can never start is cancelled later, if it asked for that.
  void JudgeNew(JobRecord* job);
  /// kInvalidArgument if these dependencies of the job would make a circle.
  Status CheckCircle(const JobRecord& job, const std::vector<Dependency>& wanted) const;
  /// Judges dependents that are due; false if none was, or the database did not answer.
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

  void Register(const JobPtr& job, bool present);
  void NoteParent(const JobRecord& parent);
  void SetTimer(JobId id, WallTime due);
  bool EarlierLeft(const JobRecord& job) const;
  Result<std::vector<JobPtr>> ParentsOf(const Dependency& dependency, bool stored) const;
  Result<std::vector<JobPtr>> TasksOf(const JobRecord& array, bool stored) const;
  bool Judge(JobRecord* job, bool stored, WallTime* due);
  void JudgeDependent(const JobPtr& job);

  // --- array_dependencies.cc
  /// Gives those waiting tasks of an array whose aftercorr is decided a record of their own.
  /// Returns the newest record of the array; the same one if nothing is decided.
  JobPtr JudgeByIndex(const JobPtr& job, bool stored);

  EngineContext& context_;
  CommitPipeline& commits_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  ArrayTasks& array_tasks_;
  // By the id that a dependency names: a job's, or an array's.
  std::unordered_map<JobId, std::set<JobId>> dependents_;
  // Tasks in memory by array; kept for arrays that a job depends on or may depend on.
  std::unordered_map<JobId, std::set<JobId>> tasks_;
  // Batch scripts that have not ended, and waiting singletons, by name.
  std::set<std::pair<NameKey, JobId>> by_name_, singletons_;
  std::set<std::pair<WallTime, JobId>> timed_;
  std::unordered_map<JobId, WallTime> timer_of_;
  std::set<JobId> due_;
  // Of them: parents may have ended while nobody looked.
  std::set<JobId> unsure_;
};

}  // namespace muster
