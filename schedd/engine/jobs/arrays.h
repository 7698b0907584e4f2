// Arrays: what follows from the records of each array's jobs: how many of its tasks wait, run and
// have ended, and how, which records they are in, and how many more may start. On the engine thread
// only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "schedd/engine/live/live_jobs.h"
#include "schedd/lifecycle/dependencies.h"
#include "schedd/model/task_ranges.h"

namespace muster {

class Arrays : public JobFollower {
 public:
  /// `jobs` must outlive it.
  explicit Arrays(const LiveJobs& jobs) : jobs_(jobs) {}

  /// Forgets everything, for a recovery. `ends`: of the arrays with jobs that have not ended.
  /// `since`: jobs that ended before it are not in memory.
  void Reset(const std::vector<ArrayEnds>& ends, WallTime since);

  /// True if any record of this array is in memory.
  bool Has(JobId array) const { return arrays_.contains(array); }
  /// All its tasks together, as decided. nullopt: all of them ended some time ago, or it is none;
  /// Store::ReadArrayEnds knows how they ended. Of tasks that left memory before a recovery the
  /// latest time at which they can have begun counts.
  std::optional<ParentState> StateOf(JobId array) const;
  /// The record that this task is in, among those in memory: its own, or that of tasks that wait or
  /// were cancelled together. Null if there is none.
  JobPtr RecordOf(JobId array, std::int32_t index) const;
  /// All its records in memory, in no order.
  std::vector<JobPtr> Records(JobId array) const;
  /// The records that stand for waiting tasks, in the order of their ids.
  std::vector<JobPtr> Waiting(JobId array) const;
  /// The jobs of these tasks that have records of their own and have not ended, by index.
  std::vector<JobPtr> Tasks(JobId array, const TaskRanges& tasks) const;
  /// %N of the array; 0: none.
  std::int32_t ThrottleOf(JobId array) const;
  /// How many more tasks may start under %N; negative if more run than it allows now.
  std::int64_t Room(JobId array) const;

  void Enter(const JobPtr& job) override;
  void Change(const JobRecord& before, const JobPtr& job) override;
  void Leave(JobId id) override;
  void ChangeSoft(const JobPtr& job) override;

 private:
  struct Array {
    ParentState state;
    // All its ended tasks are counted, also those that are not in memory: `unseen` of them, of
    // which the times are not known.
    bool whole = false;
    std::int64_t unseen = 0;
    std::int64_t running = 0;  // tasks that hold quota
    std::int64_t queued = 0;   // tasks with records of their own that wait, for they ran before
    std::size_t in_memory = 0;
    std::map<JobId, JobPtr> waiting, ended;  // records of tasks that wait, or ended, together
    std::map<std::int32_t, JobId> tasks;
  };
  static void Count(const JobRecord& job, std::int64_t sign, Array* array);
  static void Index(const JobPtr& job, Array* array);

  const LiveJobs& jobs_;
  std::map<JobId, Array> arrays_;
  WallTime since_;
};

/// The array that the job belongs to; 0: none.
JobId ArrayIdOf(const JobRecord& job);

}  // namespace muster
