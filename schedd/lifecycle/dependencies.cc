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

#include "schedd/base/saturating.h"

namespace muster {
namespace {

bool Began(const JobRecord& job) { return IsDispatched(job.state) || IsTerminal(job.state); }
bool Ok(const JobRecord& job) { return job.state == JobState::kSucceeded; }
bool NotOk(const JobRecord& job) { return IsTerminal(job.state) && !Ok(job); }

template <class Test>
bool All(std::span<const JobPtr> jobs, Test test) {
  return std::all_of(jobs.begin(), jobs.end(), [&](const JobPtr& job) { return test(*job); });
}
template <class Test>
bool Any(std::span<const JobPtr> jobs, Test test) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const JobPtr& job) { return test(*job); });
}

bool Ended(const JobRecord& job) { return IsTerminal(job.state); }

// after+MINUTES. A job that ended without a start counts from its end.
DependencyJudgement JudgeAfter(const Dependency& dependency, std::span<const JobPtr> parents,
                               WallTime now) {
  if (!All(parents, Began)) return {};
  if (dependency.minutes <= 0) return {DependencyVerdict::kMet};
  WallTime last;
  for (const JobPtr& job : parents) {
    const WallTime began = job->start_time.set() ? job->start_time : job->end_time;
    if (!began.set()) return {};  // it was given a member and does not run yet
    last = std::max(last, began);
  }
  const WallTime due = last.PlusSeconds(std::int64_t{dependency.minutes} * 60);
  if (due <= now) return {DependencyVerdict::kMet};
  return {DependencyVerdict::kWaits, due};
}

}  // namespace

DependencyJudgement JudgeDependency(const Dependency& dependency, std::span<const JobPtr> parents,
                                    WallTime now) {
  if (parents.empty()) return {DependencyVerdict::kNever};
  switch (dependency.type) {
    case DependencyType::kAfter:
      return JudgeAfter(dependency, parents, now);
    case DependencyType::kAfterAny:
    case DependencyType::kAfterBurstBuffer:  // there are none: the end of the job is theirs
      return {All(parents, Ended) ? DependencyVerdict::kMet : DependencyVerdict::kWaits};
    case DependencyType::kAfterOk:
    case DependencyType::kAfterCorr:
      if (Any(parents, NotOk)) return {DependencyVerdict::kNever};
      return {All(parents, Ok) ? DependencyVerdict::kMet : DependencyVerdict::kWaits};
    case DependencyType::kAfterNotOk:
      if (!All(parents, Ended))
        return {DependencyVerdict::kWaits, {}, parents.size() > 1 && Any(parents, NotOk)};
      return {Any(parents, NotOk) ? DependencyVerdict::kMet : DependencyVerdict::kNever};
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
