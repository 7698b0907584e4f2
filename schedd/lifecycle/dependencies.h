// How dependencies between jobs are judged (--dependency, rule B31). Pure.
//
// A dependency is judged by the records of the jobs that it names. One that is met leaves the list;
// one that can never be met is marked, and stays so whatever becomes of its parent later.
#pragma once

#include <optional>
#include <span>

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

/// `parents`: the job, or all known records of the array (its waiting tasks' record included); of
/// a task of an array its own record, or that of the waiting tasks if it is among them. Empty: no
/// job is known, and the dependency is never met.
DependencyJudgement JudgeDependency(const Dependency& dependency, std::span<const JobPtr> parents,
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
