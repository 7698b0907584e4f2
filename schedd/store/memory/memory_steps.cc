// Table steps of MemoryStore: written, closed with attempts, read.
#include <algorithm>
#include <set>
#include <utility>

#include "schedd/model/step_end.h"
#include "schedd/store/memory/memory_store.h"

namespace muster {
namespace {

Error RefusedStep(std::string detail) { return {Code::kFailedPrecondition, std::move(detail)}; }

}  // namespace

// Sets a row and records how to restore the old one.
void MemoryStore::PutStep(const StepKey& key, StepRecord step, UndoLog* undo) {
  const auto found = tables_.steps.find(key);
  if (found == tables_.steps.end()) {
    undo->push_back([this, key]() MUSTER_REQUIRES(mutex_) { tables_.steps.erase(key); });
  } else {
    undo->push_back([this, key, old = found->second]()
                        MUSTER_REQUIRES(mutex_) { tables_.steps[key] = old; });
  }
  tables_.steps[key] = std::move(step);
}

// A step with an end time is closed and never changes again. The refusals are the constraints of
// table steps.
Status MemoryStore::ApplySteps(const PlanCommit& commit, UndoLog* undo) {
  for (const StepRecord& step : commit.steps) {
    if (!tables_.jobs.contains(step.job)) return RefusedStep("the step's job does not exist");
    if (step.attempt < 1) return RefusedStep("attempts count from 1");
    if (step.step < 0) return RefusedStep("steps count from 0");
    if (step.state < StepState::kRunning || step.state > StepState::kOutOfMemory)
      return RefusedStep("a step has no such state");
    const StepKey key(step.job, step.attempt, step.step);
    const auto found = tables_.steps.find(key);
    if (found != tables_.steps.end() && found->second.end_time.set()) continue;
    PutStep(key, step, undo);
  }
  return Done{};
}

void MemoryStore::CloseSteps(const PlanCommit& commit, UndoLog* undo) {
  for (const AttemptRecord& attempt : commit.attempts) {
    if (!attempt.end_time.set()) continue;
    for (auto row = tables_.steps.lower_bound({attempt.job, attempt.attempt, 0});
         row != tables_.steps.end() && std::get<0>(row->first) == attempt.job &&
         std::get<1>(row->first) == attempt.attempt;
         ++row) {
      if (row->second.end_time.set()) continue;
      StepRecord closed = row->second;
      closed.end_time = std::max(attempt.end_time, closed.start_time);
      closed.state = kUnendedStepState;
      closed.exit_signal = kUnendedStepSignal;
      PutStep(row->first, std::move(closed), undo);
    }
  }
}

Result<std::vector<StepRecord>> MemoryStore::ReadSteps(const StepQuery& query) {
  MutexLock lock(mutex_);
  const Status readable = CheckReadable();
  if (!readable.ok()) return readable.error();
  const std::set<JobId> sorted(query.jobs.begin(), query.jobs.end());
  const StepKey after(query.after_job, query.after_attempt, query.after_step);
  std::vector<StepRecord> steps;
  for (const JobId id : sorted) {
    for (auto row = tables_.steps.upper_bound(std::max(StepKey(id, 0, 0), after));
         row != tables_.steps.end() && std::get<JobId>(row->first) == id; ++row) {
      if (steps.size() == query.limit) return steps;
      steps.push_back(row->second);
    }
  }
  return steps;
}

}  // namespace muster
