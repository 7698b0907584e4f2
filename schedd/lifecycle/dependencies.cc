// The types, as Slurm judges them by the parent's state:
//
// after       it was started (quota and a member are its own) or has ended; with minutes: so long
//             ago that it began to run
// afterany    it has ended
// afterok     it has succeeded; never, if it ended otherwise
// afternotok  it has ended and not succeeded; never, if it succeeded
// aftercorr   as afterok, of the task with the same index
//
// Of an array all tasks together: afterok waits for all and fails with the first that fails;
// afternotok is judged when all have ended, by the worst of them.
#include "schedd/lifecycle/dependencies.h"

#include <algorithm>

#include "schedd/model/task_ranges.h"

namespace muster {
namespace {

// after+MINUTES. A job that ended without a start counts from its end.
DependencyJudgement JudgeAfter(const Dependency& dependency, const ParentState& parent,
                               WallTime now) {
  if (parent.not_begun > 0) return {};
  if (dependency.minutes <= 0) return {DependencyVerdict::kMet};
  if (parent.starting > 0 || !parent.last_begin.set()) return {};
  const WallTime due = parent.last_begin.PlusSeconds(std::int64_t{dependency.minutes} * 60);
  if (due <= now) return {DependencyVerdict::kMet};
  return {DependencyVerdict::kWaits, due};
}

}  // namespace

void ParentState::Count(const JobRecord& job, std::int64_t sign) {
  const std::int64_t some =
      sign * (IsArrayRecord(job) ? CountOf(BatchStateOf(job).waiting_tasks) : 1);
  const bool ended = IsTerminal(job.state), dispatched = IsDispatched(job.state);
  tasks += some;
  if (!ended) open += some;
  if (!ended && !dispatched) not_begun += some;
  if (dispatched && !job.start_time.set()) starting += some;
  if (ended && job.state != JobState::kSucceeded) failed += some;
  if (ended || dispatched)
    last_begin = std::max(last_begin, job.start_time.set() ? job.start_time : job.end_time);
}

DependencyJudgement JudgeDependency(const Dependency& dependency, const ParentState& parent,
                                    WallTime now) {
  if (parent.tasks == 0) return {DependencyVerdict::kNever};
  const bool ended = parent.open == 0, failed = parent.failed > 0;
  switch (dependency.type) {
    case DependencyType::kAfter:
      return JudgeAfter(dependency, parent, now);
    case DependencyType::kAfterAny:
    case DependencyType::kAfterBurstBuffer:  // there are none: the end of the job is theirs
      return {ended ? DependencyVerdict::kMet : DependencyVerdict::kWaits};
    case DependencyType::kAfterOk:
    case DependencyType::kAfterCorr:
      if (failed) return {DependencyVerdict::kNever};
      return {ended ? DependencyVerdict::kMet : DependencyVerdict::kWaits};
    case DependencyType::kAfterNotOk:
      if (!ended) return {DependencyVerdict::kWaits, {}, parent.tasks > 1 && failed};
      return {failed ? DependencyVerdict::kMet : DependencyVerdict::kNever};
    case DependencyType::kSingleton:
      break;
  }
  return {};
}

bool TakeJudgement(BatchState* state, std::size_t index, const DependencyJudgement& judgement) {
  Dependency& one = state->dependencies[index];
  // Once failed stays failed.
  if (one.failed) return false;
  switch (judgement.verdict) {
    case DependencyVerdict::kWaits:
      if (!judgement.narrows) return false;
      one.type = DependencyType::kAfterAny;
      return true;
    case DependencyVerdict::kNever:
      one.failed = true;
      return true;
    case DependencyVerdict::kMet:
      if (state->any_dependency) {
        state->dependencies.clear();
        state->any_dependency = false;
      } else {
        state->dependencies.erase(state->dependencies.begin() + static_cast<std::ptrdiff_t>(index));
      }
      return true;
  }
  return false;
}

bool NeverStarts(const BatchState& state) {
  const auto failed = [](const Dependency& one) { return one.failed; };
  const auto& list = state.dependencies;
  if (list.empty()) return false;
  return state.any_dependency ? std::all_of(list.begin(), list.end(), failed)
                              : std::any_of(list.begin(), list.end(), failed);
}

}  // namespace muster
