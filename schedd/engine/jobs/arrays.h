// Arrays: what follows from the records of each array's jobs: how many of its tasks wait, run and
// have ended, which records they are in, and how many more may start. On the engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "schedd/engine/live/live_jobs.h"
#include "schedd/model/task_ranges.h"

namespace muster {

/// The tasks of one array by what has become of them.
struct ArrayCounts {
  std::int64_t waiting = 0, running = 0, ok = 0;
  std::int64_t failed = 0;  // also those that were cancelled
  bool AllEnded() const { return waiting == 0 && running == 0; }
};

class Arrays : public JobFollower {
 public:
  /// `jobs` must outlive it.
  explicit Arrays(const LiveJobs& jobs) : jobs_(jobs) {}

  /// Forgets everything, for a recovery. `ends`: of the arrays with jobs that have not ended.
  void Reset(const std::vector<ArrayEnds>& ends);

  /// The counts as decided. Null: all tasks of this array ended some time ago, or it is none;
  /// Store::ReadArrayEnds knows how they ended.
  const ArrayCounts* Find(JobId array) const;
  /// The record that this task is in, among those in memory: its own, or that of waiting tasks that
  /// has it. Null if there is none.
  JobPtr RecordOf(JobId array, std::int32_t index) const;
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
    ArrayCounts counts;
    // All its ended tasks are counted, also those that are not in memory.
    bool whole = false;
    std::int64_t queued = 0;  // tasks with records of their own that wait, for they ran before
    std::size_t in_memory = 0;
    std::map<JobId, JobPtr> waiting;
    std::map<std::int32_t, JobId> tasks;
  };
  static void Count(const JobRecord& job, std::int64_t sign, Array* array);
  static void Index(const JobPtr& job, Array* array);

  const LiveJobs& jobs_;
  std::map<JobId, Array> arrays_;
};

/// The array that the job belongs to; 0: none.
JobId ArrayIdOf(const JobRecord& job);

}  // namespace muster
