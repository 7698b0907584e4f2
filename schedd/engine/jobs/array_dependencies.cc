// aftercorr between arrays: the methods of Dependencies that judge the waiting tasks of one record
// index by index.
//
// What a parent's end decides is decided for one index. The tasks that it concerns get a record of
// their own, one for all that are met and one for all that never will be, so an array costs one
// record more for each end of a parent at most, and each of these becomes the task's own record.
// The last ones keep the array's.
//
// When a dependent enters memory, the records of its parent are read from the store, a page in each
// step; from then on each end is noted as it comes (NoteIndex), so that it costs the same whatever
// the size of the arrays. What was read and noted is decided at once, because an end is final; only
// when all was read is it known which tasks have no parent.
#include <algorithm>
#include <utility>

#include "schedd/base/limits_dependencies.h"
#include "schedd/engine/jobs/dependencies.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

std::set<JobId> ParentsByIndex(const JobRecord* job) {
  std::set<JobId> parents;
  if (job == nullptr) return parents;
  for (const Dependency& one : BatchStateOf(*job).dependencies) {
    if (IsByIndex(*job, one)) parents.insert(one.job);
  }
  return parents;
}

TaskRanges SortedRanges(std::vector<std::int32_t> indexes) {
  std::sort(indexes.begin(), indexes.end());
  indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
  return RangesOf(indexes);
}

void Append(const TaskRanges& more, TaskRanges* ranges) {
  ranges->insert(ranges->end(), more.begin(), more.end());
}

// The indexes of `of` that one of the ranges has; these may be in any order.
TaskRanges Among(const TaskRanges& of, const TaskRanges& ranges) {
  TaskRanges left = of;
  for (const TaskRange& one : ranges) left = Without(left, {one});
  return Without(of, left);
}

}  // namespace

bool IsByIndex(const JobRecord& job, const Dependency& one) {
  return one.type == DependencyType::kAfterCorr && one.task < 0 && !one.failed &&
         IsArrayRecord(job);
}

void Dependencies::Indexes::TakeEnd(const JobRecord& job) {
  if (!IsTerminal(job.state)) return;
  if (IsArrayRecord(job)) {
    Append(BatchStateOf(job).waiting_tasks, &failed_ranges);
  } else {
    (job.state == JobState::kSucceeded ? ok : failed).push_back(job.batch->array_task_id);
  }
}

void Dependencies::Indexes::TakeRecord(const JobRecord& job) {
  TakeEnd(job);
  if (IsArrayRecord(job)) {
    Append(BatchStateOf(job).waiting_tasks, &ranges);
  } else {
    single.push_back(job.batch->array_task_id);
  }
}

void Dependencies::FollowIndexes(JobId id, const JobRecord* before, const JobRecord* after) {
  const std::set<JobId> waited = ParentsByIndex(before), waits = ParentsByIndex(after);
  for (const JobId array : waited) {
    if (!waits.contains(array)) indexes_.erase({array, id});
  }
  for (const JobId array : waits) {
    if (!waited.contains(array)) indexes_[{array, id}] = {};
  }
}

void Dependencies::NoteIndex(const JobRecord& parent) {
  const JobId array = ArrayIdOf(parent);
  for (auto at = indexes_.lower_bound({array, JobId{}});
       at != indexes_.end() && at->first.first == array; ++at) {
    at->second.TakeEnd(parent);
  }
}

bool Dependencies::ReadIndexes(JobId dependent, JobId array, Parents* parents) {
  Indexes& known = indexes_.at({array, dependent});
  const JobId after = std::max(known.after, JobId{array.value - 1});
  const auto page = parents->Page(array, after);
  if (!page.ok()) {
    Log(LogLevel::kWarning, "engine", "dependency_waits", {{"err", page.error().detail}});
    later_.insert(dependent);
    return false;
  }
  if (*page) {
    for (const JobPtr& job : **page) known.TakeRecord(*job);
    if (!(*page)->empty()) known.after = (*page)->back()->id;
  }
  if (!*page || (*page)->size() == limits::kParentPage) {
    again_.insert(dependent);
    return false;
  }
  // What is in memory is newer.
  for (const JobPtr& job : arrays_.Records(array)) known.TakeRecord(*job);
  return known.read = true;
}

// True if waiting tasks are left that the verdict is not about.
bool Dependencies::Decide(const Dependency& dependency, const TaskRanges& ranges,
                          DependencyVerdict verdict, JobPtr* record) {
  TaskRanges chosen = Among(BatchStateOf(**record).waiting_tasks, ranges);
  if (chosen.empty()) return true;
  const JobPtr part = array_tasks_.Divide(*record, std::move(chosen));
  auto draft = std::make_shared<JobRecord>(*part);
  changes::ChangeBatch(draft.get(), [&](BatchState* state) {
    const auto at = std::find(state->dependencies.begin(), state->dependencies.end(), dependency);
    const auto index = static_cast<std::size_t>(at - state->dependencies.begin());
    if (at != state->dependencies.end()) TakeJudgement(state, index, {verdict});
  });
  changes::SayWhyItWaits(draft.get());
  const JobPtr judged = jobs_.Put(part, std::move(draft), "JobDependencyChanged");
  const bool all = part->id == (*record)->id;
  *record = all ? judged : jobs_.Find((*record)->id);
  return !all;
}

// An index of which nothing is known when all was read has no parent, so its tasks never start.
JobPtr Dependencies::JudgeByIndex(const JobPtr& job, Parents* parents) {
  JobPtr now = job;
  const std::vector<Dependency> dependencies = BatchStateOf(*job).dependencies;
  for (const Dependency& one : dependencies) {
    const auto at = indexes_.find({one.job, job->id});
    if (!IsByIndex(*now, one) || at == indexes_.end()) continue;
    const auto parent = Ask(job->id, one, parents);
    if (!parent.ok() || !*parent || !(*parent)->is_array) continue;
    const bool whole = !at->second.read && ReadIndexes(job->id, one.job, parents);
    Indexes& known = at->second;
    const TaskRanges ok = SortedRanges(std::exchange(known.ok, {}));
    TaskRanges failed = std::exchange(known.failed_ranges, {});
    Append(SortedRanges(std::exchange(known.failed, {})), &failed);
    if (whole) {
      TaskRanges orphans = BatchStateOf(*now).waiting_tasks;
      Append(SortedRanges(std::exchange(known.single, {})), &known.ranges);
      for (const TaskRange& range : std::exchange(known.ranges, {}))
        orphans = Without(orphans, {range});
      Append(orphans, &failed);
    }
    if (!Decide(one, ok, DependencyVerdict::kMet, &now)) return now;
    if (!Decide(one, failed, DependencyVerdict::kNever, &now)) return now;
  }
  return now;
}

}  // namespace muster
