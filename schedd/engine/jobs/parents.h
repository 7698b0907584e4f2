// Parents: what has become of the jobs that dependents name, from memory or from the store (rule
// B31). Memory knows every job that has not ended and all counts of its array; what it does not
// have ended long ago, or never was. One object serves one step of the engine, so that it reads
// each parent once. On the engine thread only.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "schedd/engine/jobs/arrays.h"

namespace muster {

struct Parent {
  ParentState state;
  bool is_array = false;  // the id that the dependency names is an array's
};

class Parents {
 public:
  /// All must outlive it.
  Parents(Store& store, const LiveJobs& jobs, const Arrays& arrays)
      : store_(store), jobs_(jobs), arrays_(arrays) {}

  /// From memory alone; nullopt: memory does not tell.
  std::optional<Parent> Find(const Dependency& dependency) const;

  /// Reads those parents of these jobs that are not in memory, at most limits::kParentsAtOnce, with
  /// two queries.
  void Prefetch(const std::vector<JobPtr>& dependents);
  /// From memory, or from what was read and the few single reads that a step may do. nullopt: it is
  /// to be asked in another step. An error: the database did not answer.
  Result<std::optional<Parent>> Read(const Dependency& dependency);
  /// The next limits::kParentPage records of an array after the job `after`, in the order of their
  /// ids; fewer: there are no more. nullopt: as in Read.
  Result<std::optional<std::vector<JobPtr>>> Page(JobId array, JobId after);

 private:
  using Key = std::pair<JobId, std::int32_t>;  // job, task
  Result<std::vector<JobPtr>> ReadPage(JobId array, JobId after);
  Result<std::optional<Parent>> ReadTask(const Dependency& dependency);
  Result<std::optional<Parent>> ReadTimes(const Dependency& dependency, Parent parent);

  Store& store_;
  const LiveJobs& jobs_;
  const Arrays& arrays_;
  Status prefetched_ = Done{};
  std::map<JobId, JobPtr> read_;       // by the id asked for; null: there is none
  std::map<JobId, ParentState> ends_;  // of arrays all of whose tasks have ended
  std::map<Key, Parent> tasks_;
  int reads_ = 0;
};

}  // namespace muster
