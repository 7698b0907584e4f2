// How dependencies between jobs are judged (--dependency, rule B31). Pure.
//
// A dependency is judged by the state of the jobs that it names. One that is met leaves the list;
// one that can never be met is marked, and stays so whatever becomes of its parent later.
#pragma once

#include <cstdint>
#include <optional>

#include "schedd/model/job.h"

namespace muster {

/// Dependency::task of a dependency on all tasks of an array, once it is known to be one.
inline constexpr std::int32_t kAllTasks = -2;

enum class DependencyVerdict { kWaits, kMet, kNever };

struct DependencyJudgement {
  DependencyVerdict verdict = DependencyVerdict::kWaits;
  /// Of kWaits: when time alone meets it (after:ID+MINUTES); unset: an event of the parent does.
  WallTime due = {};
  /// Of kWaits on an array, afternotok: a task has failed, so that only the ends of the others are
  /// waited for.
  bool narrows = false;
};

/// What has become of a parent: of a job, of one task of an array, or of all its tasks.
struct ParentState {
  std::int64_t tasks = 0;      // 0: there is no such job
  std::int64_t not_begun = 0;  // without a member of their own
  std::int64_t starting = 0;   // given a member, and do not run yet
  std::int64_t open = 0;       // not ended
  std::int64_t failed = 0;     // ended otherwise than well
  /// When the last one began to run, or ended without a start; it never goes back.
  WallTime last_begin;

  /// Adds (+1) or takes away (-1) the tasks that this record stands for.
  void Count(const JobRecord& job, std::int64_t sign);
  bool operator==(const ParentState&) const = default;
};

/// Without a parent the dependency is never met.
DependencyJudgement JudgeDependency(const Dependency& dependency, const ParentState& parent,
                                    WallTime now);
/// The singleton of a job: met when no earlier job of its user and name is left.
inline DependencyVerdict JudgeSingleton(bool earlier_left) {
  return earlier_left ? DependencyVerdict::kWaits : DependencyVerdict::kMet;
}

/// Takes the judgement of the dependency at `index` into the state: a met one leaves the list, and
/// with it all others if one is enough; one that can never be met is marked. False if nothing
/// changed.
bool TakeJudgement(BatchState* state, std::size_t index, const DependencyJudgement& judgement);

/// True if the job can never start because of its dependencies.
bool NeverStarts(const BatchState& state);

}  // namespace muster
