// aftercorr between arrays: the method of Dependencies that judges the waiting tasks of one record
// index by index.
//
// What a parent's end decides is decided for one index. The tasks that it concerns get a record of
// their own, one for all that are met and one for all that never will be, so an array costs one
// record more for each end of a parent at most, and each of these becomes the task's own record.
// The last ones keep the array's.
#include <algorithm>

#include "schedd/engine/jobs/dependencies.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/dependencies.h"

namespace muster {
namespace {

// The indexes of an array's tasks by how they ended; `known`: all that it has, if all of its
// records are given.
struct IndexesByEnd {
  TaskRanges ok, known;
};

IndexesByEnd ByEnd(const std::vector<JobPtr>& records, TaskRanges* failed) {
  std::vector<std::int32_t> ok, bad, single;
  TaskRanges in_records;
  for (const JobPtr& job : records) {
    if (IsArrayRecord(*job)) {
      const TaskRanges& tasks = BatchStateOf(*job).waiting_tasks;
      in_records.insert(in_records.end(), tasks.begin(), tasks.end());
      if (IsTerminal(job->state)) failed->insert(failed->end(), tasks.begin(), tasks.end());
      continue;
    }
    const std::int32_t index = job->batch->array_task_id;
    single.push_back(index);
    if (job->state == JobState::kSucceeded) ok.push_back(index);
    if (IsTerminal(job->state) && job->state != JobState::kSucceeded) bad.push_back(index);
  }
  for (auto* list : {&ok, &bad, &single}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  const TaskRanges more = RangesOf(bad), singles = RangesOf(single);
  failed->insert(failed->end(), more.begin(), more.end());
  in_records.insert(in_records.end(), singles.begin(), singles.end());
  return {RangesOf(ok), std::move(in_records)};
}

// The indexes of `of` that one of the ranges has; these may be in any order.
TaskRanges Among(const TaskRanges& of, const TaskRanges& ranges) {
  TaskRanges left = of;
  for (const TaskRange& one : ranges) left = Without(left, {one});
  return Without(of, left);
}

}  // namespace

// `stored`: an index of which nothing is known has no parent, so its tasks never start.
JobPtr Dependencies::JudgeByIndex(const JobPtr& job, bool stored) {
  JobPtr now = job;
  if (!IsArrayRecord(*job)) return now;
  const auto decide = [&](const Dependency& dependency, const TaskRanges& ranges,
                          DependencyVerdict verdict) {
    TaskRanges chosen = Among(BatchStateOf(*now).waiting_tasks, ranges);
    if (chosen.empty()) return true;
    const JobPtr part = array_tasks_.Divide(now, std::move(chosen));
    auto draft = std::make_shared<JobRecord>(*part);
    changes::ChangeBatch(draft.get(), [&](BatchState* state) {
      const auto at = std::find(state->dependencies.begin(), state->dependencies.end(), dependency);
      const auto index = static_cast<std::size_t>(at - state->dependencies.begin());
      if (at != state->dependencies.end()) TakeJudgement(state, index, {verdict});
    });
    changes::SayWhyItWaits(draft.get());
    const JobPtr judged = jobs_.Put(part, std::move(draft), "JobDependencyChanged");
    const bool all = part->id == now->id;
    now = all ? judged : jobs_.Find(now->id);
    return !all;
  };
  const std::vector<Dependency> dependencies = BatchStateOf(*job).dependencies;
  for (const Dependency& one : dependencies) {
    if (one.type != DependencyType::kAfterCorr || one.task >= 0 || one.failed) continue;
    const auto parents = ParentsOf(one, stored);
    if (!parents.ok()) {
      unsure_.insert(job->id);
      continue;
    }
    if (parents->empty() || ArrayIdOf(*parents->front()) != one.job) continue;
    TaskRanges failed;
    const IndexesByEnd ends = ByEnd(*parents, &failed);
    if (!decide(one, ends.ok, DependencyVerdict::kMet)) return now;
    if (!decide(one, failed, DependencyVerdict::kNever)) return now;
    if (!stored) continue;
    const TaskRanges orphans = [&] {
      TaskRanges left = BatchStateOf(*now).waiting_tasks;
      for (const TaskRange& known : ends.known) left = Without(left, {known});
      return left;
    }();
    if (!decide(one, orphans, DependencyVerdict::kNever)) return now;
  }
  return now;
}

}  // namespace muster
