// Which record a dependency is judged by: that of the job with this id; of an array, the records of
// its tasks and of those that wait. Records that have left memory are read from the store, which
// happens only for parents that ended long ago: a dependent that is in memory sees each end of a
// parent while that is in memory, and what can never be met is stored with the dependent.
//
// The record of an array and its last task share their id with the array, so the id of an array is
// found like that of any job, and the batch details say that it is one.
#include "schedd/engine/jobs/dependencies.h"

#include <algorithm>

#include "schedd/base/limits_slurm_gates.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/dependencies.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

bool WaitsForParents(const JobRecord& job) {
  const bool waits = job.state == JobState::kPending || job.state == JobState::kHeld;
  return waits && job.batch_state != nullptr && !job.batch_state->dependencies.empty();
}

// A new record of an array has no array id yet.
JobId ArrayOf(const JobRecord& job) {
  if (const JobId id = ArrayIdOf(job); id.value != 0) return id;
  return IsArrayRecord(job) ? job.id : JobId{};
}

// aftercorr of the waiting tasks of an array: each waits for the task with its own index.
bool IsByIndex(const JobRecord& job, const Dependency& one) {
  return one.type == DependencyType::kAfterCorr && one.task < 0 && !one.failed &&
         IsArrayRecord(job);
}

bool HoldsTask(const JobRecord& record, std::int32_t task) {
  const TaskRanges& ranges = BatchStateOf(record).waiting_tasks;
  return std::any_of(ranges.begin(), ranges.end(), [task](const TaskRange& one) {
    return task >= one.first && task <= one.last && (task - one.first) % one.step == 0;
  });
}

// The record of one task among those of its array: its own, or that of the waiting tasks.
std::vector<JobPtr> TaskAmong(const std::vector<JobPtr>& tasks, std::int32_t task) {
  std::vector<JobPtr> found;
  for (const JobPtr& job : tasks) {
    const bool own = job->batch->array_task_id == task;
    if (own || (IsArrayRecord(*job) && HoldsTask(*job, task))) found.push_back(job);
  }
  return found;
}

std::uint64_t NameKeyOf(const JobRecord& job) {
  return std::hash<std::string>()(job.user + '\n' + job.display_name);
}

bool IsSingleton(const BatchState& state) {
  return std::any_of(
      state.dependencies.begin(), state.dependencies.end(),
      [](const Dependency& one) { return one.type == DependencyType::kSingleton && !one.failed; });
}

// A change that a dependent may wait for: it was given a member, runs, ended, or waits again.
bool MovesOn(const JobRecord& before, const JobRecord& after) {
  return before.state != after.state || before.start_time != after.start_time;
}

}  // namespace

void Dependencies::Reset() {
  dependents_.clear();
  tasks_.clear();
  by_name_.clear();
  singletons_.clear();
  timed_.clear();
  timer_of_.clear();
  due_.clear();
  unsure_.clear();
}

// Parents may have ended and left memory unseen.
void Dependencies::JudgeAllAfterRecovery() {
  for (const auto& [id, job] : jobs_.all()) {
    if (WaitsForParents(*job)) unsure_.insert(id);
  }
  due_ = unsure_;
}

void Dependencies::Register(const JobPtr& job, bool present) {
  const auto put = [&](auto* index, const auto& key) {
    if (present) {
      (*index)[key].insert(job->id);
    } else if (const auto at = index->find(key); at != index->end()) {
      at->second.erase(job->id);
      if (at->second.empty()) index->erase(at);
    }
  };
  for (const Dependency& one : job->batch_state->dependencies) {
    if (one.type != DependencyType::kSingleton) put(&dependents_, one.job);
  }
  if (!IsSingleton(*job->batch_state)) return;
  if (present) {
    singletons_.emplace(NameKeyOf(*job), job->id);
  } else {
    singletons_.erase({NameKeyOf(*job), job->id});
  }
}

void Dependencies::SetTimer(JobId id, WallTime due) {
  const auto known = timer_of_.find(id);
  if (known != timer_of_.end()) {
    timed_.erase({known->second, id});
    timer_of_.erase(known);
  }
  if (!due.set()) return;
  timed_.emplace(due, id);
  timer_of_.emplace(id, due);
}

void Dependencies::Enter(const JobPtr& job) {
  if (job->batch == nullptr) return;
  if (const JobId array = ArrayOf(*job); array.value != 0) tasks_[array].insert(job->id);
  if (!IsTerminal(job->state)) by_name_.emplace(NameKeyOf(*job), job->id);
  if (WaitsForParents(*job)) {
    Register(job, true);
    due_.insert(job->id);
    // Its tasks are judged one by one (JudgeByIndex), first with all that the store knows.
    if (IsArrayRecord(*job)) unsure_.insert(job->id);
  }
}

void Dependencies::Change(const JobRecord& before, const JobPtr& job) {
  if (MovesOn(before, *job)) NoteParent(*job);
  if (job->batch == nullptr) return;
  if (before.display_name != job->display_name) {
    by_name_.erase({NameKeyOf(before), job->id});
    by_name_.emplace(NameKeyOf(*job), job->id);
  }
  if (IsTerminal(job->state)) by_name_.erase({NameKeyOf(*job), job->id});
  const bool waited = WaitsForParents(before), waits = WaitsForParents(*job);
  if (before.batch_state == job->batch_state && before.display_name == job->display_name &&
      waited == waits) {
    return;
  }
  if (waited) Register(std::make_shared<const JobRecord>(before), false);
  if (waits) {
    Register(job, true);
    due_.insert(job->id);
  } else {
    SetTimer(job->id, {});
  }
}

void Dependencies::Leave(JobId id) {
  SetTimer(id, {});
  due_.erase(id);
  unsure_.erase(id);
  const JobPtr job = jobs_.Find(id);
  if (job == nullptr || job->batch == nullptr) return;
  by_name_.erase({NameKeyOf(*job), id});
  const auto tasks = tasks_.find(ArrayOf(*job));
  if (tasks == tasks_.end()) return;
  tasks->second.erase(id);
  if (tasks->second.empty()) tasks_.erase(tasks);
}

// Those of its own id, of its array, and, at an end, the singletons that come after it.
void Dependencies::NoteParent(const JobRecord& parent) {
  const auto note = [this](JobId id) {
    const auto found = dependents_.find(id);
    if (found != dependents_.end()) due_.insert(found->second.begin(), found->second.end());
  };
  note(parent.id);
  const JobId array = ArrayOf(parent);
  if (array.value != 0 && array != parent.id) note(array);
  if (parent.batch == nullptr || !IsTerminal(parent.state)) return;
  const NameKey key = NameKeyOf(parent);
  for (auto at = singletons_.lower_bound({key, JobId{}});
       at != singletons_.end() && at->first == key; ++at) {
    due_.insert(at->second);
  }
}

// Two names may have one hash: then the records are compared. A task of an array has a higher id
// than jobs that were submitted after its array, so it counts as as old as that.
bool Dependencies::EarlierLeft(const JobRecord& job) const {
  const NameKey key = NameKeyOf(job);
  const auto age = [](const JobRecord& one) {
    return ArrayOf(one).value != 0 ? ArrayOf(one) : one.id;
  };
  for (auto at = by_name_.lower_bound({key, JobId{}});
       at != by_name_.end() && at->first == key; ++at) {
    const JobPtr other = jobs_.Find(at->second);
    if (other != nullptr && age(*other) < age(job) && other->user == job.user &&
        other->display_name == job.display_name)
      return true;
  }
  return false;
}

// The tasks in memory. With `stored` also those that have left it.
Result<std::vector<JobPtr>> Dependencies::TasksOf(const JobRecord& array, bool stored) const {
  const JobId id = ArrayOf(array);
  std::map<JobId, JobPtr> found;
  JobQuery query;
  query.array = id;
  query.include_deleted = true;
  query.after = JobId{id.value - 1};
  while (stored) {
    const auto page = context_.store.ReadJobs(query);
    if (!page.ok()) return page.error();
    for (const JobPtr& job : *page) {
      if (ArrayOf(*job) == id) found[job->id] = job;
    }
    if (page->size() < query.limit) break;
    query.after = page->back()->id;
  }
  // What is in memory is newer.
  if (const auto tasks = tasks_.find(id); tasks != tasks_.end()) {
    for (const JobId task : tasks->second) {
      if (JobPtr job = jobs_.Find(task); job != nullptr) found[task] = std::move(job);
    }
  }
  std::vector<JobPtr> out;
  for (auto& [task, job] : found) out.push_back(std::move(job));
  return out;
}

// Empty: no such job. `stored`: what has left memory counts too. Without it, only for a job or an
// array of which memory has nothing left.
Result<std::vector<JobPtr>> Dependencies::ParentsOf(const Dependency& dependency,
                                                    bool stored) const {
  JobPtr named = jobs_.Find(dependency.job);
  if (named == nullptr) {
    const auto tasks = tasks_.find(dependency.job);
    if (tasks != tasks_.end()) named = jobs_.Find(*tasks->second.begin());
  }
  if (named == nullptr) {
    Result<JobPtr> read = context_.store.ReadJob(dependency.job);
    if (!read.ok() && read.error().code != Code::kNotFound) return read.error();
    if (!read.ok()) return std::vector<JobPtr>{};
    named = *read;
    stored = true;
  }
  if (ArrayOf(*named) != dependency.job) {
    // A task by the id of its own job: "_TASK" is said of arrays alone.
    if (dependency.task >= 0) return std::vector<JobPtr>{};
    return std::vector<JobPtr>{named};
  }
  const bool one_task = dependency.task >= 0;
  Result<std::vector<JobPtr>> tasks = TasksOf(*named, stored);
  if (!tasks.ok() || !one_task) return tasks;
  std::vector<JobPtr> one = TaskAmong(*tasks, dependency.task);
  if (!one.empty() || stored) return one;
  tasks = TasksOf(*named, true);
  if (!tasks.ok()) return tasks;
  return TaskAmong(*tasks, dependency.task);
}

// Judges all dependencies of a record; true if it was changed. `stored`: parents that have left
// memory count too. `due`: when time meets the next one.
bool Dependencies::Judge(JobRecord* job, bool stored, WallTime* due) {
  const WallTime now = context_.clock.WallNow();
  BatchState state = *job->batch_state;
  bool changed = false;
  for (std::size_t i = 0; i < state.dependencies.size();) {
    Dependency& one = state.dependencies[i];
    if (one.failed) {
      ++i;
      continue;
    }
    DependencyJudgement judgement;
    if (one.type == DependencyType::kSingleton) {
      judgement.verdict = JudgeSingleton(EarlierLeft(*job));
    } else {
      const auto parents = ParentsOf(one, stored);
      if (!parents.ok()) {
        // Tried again with the next step.
        Log(LogLevel::kWarning, "engine", "dependency_waits", {{"err", parents.error().detail}});
        *due = now.PlusSeconds(1);
        ++i;
        continue;
      }
      if (one.task == -1 && !parents->empty() && ArrayOf(*parents->front()) == one.job) {
        one.task = kAllTasks;
        changed = true;
      }
      if (IsByIndex(*job, one) && !parents->empty() && ArrayOf(*parents->front()) == one.job) {
        ++i;
        continue;
      }
      judgement = JudgeDependency(one, *parents, now);
    }
    if (judgement.due.set() && (!due->set() || judgement.due < *due)) *due = judgement.due;
    const std::size_t before = state.dependencies.size();
    changed = TakeJudgement(&state, i, judgement) || changed;
    if (state.dependencies.size() == before) ++i;
  }
  if (changed) changes::ChangeBatch(job, [&](BatchState* kept) { *kept = std::move(state); });
  return changed;
}

// A task of an array depends by aftercorr on the task with its index. The record of waiting tasks
// is judged when it is in memory.
void Dependencies::JudgeNew(JobRecord* job) {
  if (job->batch_state == nullptr || job->batch_state->dependencies.empty()) return;
  if (job->batch != nullptr && job->batch->array_task_id >= 0) {
    changes::ChangeBatch(job, [&](BatchState* state) {
      for (Dependency& one : state->dependencies) {
        if (one.type == DependencyType::kAfterCorr && one.task < 0)
          one.task = job->batch->array_task_id;
      }
    });
  }
  WallTime due;
  Judge(job, true, &due);
}

// One dependent in memory. A job that can never start is cancelled if it asked for that.
void Dependencies::JudgeDependent(const JobPtr& dependent) {
  const bool stored = unsure_.erase(dependent->id) > 0;
  const JobPtr job = JudgeByIndex(dependent, stored);
  if (!WaitsForParents(*job)) return;
  auto draft = std::make_shared<JobRecord>(*job);
  WallTime due;
  const bool changed = Judge(draft.get(), stored, &due);
  SetTimer(job->id, due);
  JobPtr now = job;
  if (changed) {
    changes::SayWhyItWaits(draft.get());
    now = jobs_.Put(job, std::move(draft), "JobDependencyChanged");
  }
  const BatchState& state = BatchStateOf(*now);
  if (!state.kill_on_invalid_dependency || !NeverStarts(state)) return;
  attempts_.End(now, JobEvent::kCancel, Reason::kDependencyNeverSatisfied,
                "A job that it depends on did not end as the dependency asks for", nullptr);
}

// Timers first: they make dependents due.
bool Dependencies::Fire() {
  const WallTime now = context_.clock.WallNow();
  while (!timed_.empty() && timed_.begin()->first <= now) {
    const JobId id = timed_.begin()->second;
    SetTimer(id, {});
    due_.insert(id);
  }
  bool fired = false;
  const std::size_t most = std::min(limits::kDependentsAtOnce, commits_.Room());
  for (std::size_t i = 0; i < most && !due_.empty(); ++i) {
    const JobId id = *due_.begin();
    due_.erase(due_.begin());
    fired = true;
    if (const JobPtr job = jobs_.Find(id); job != nullptr && WaitsForParents(*job))
      JudgeDependent(job);
  }
  return fired;
}

// Only jobs in memory that wait themselves can lead on.
Status Dependencies::CheckCircle(const JobRecord& job,
                                 const std::vector<Dependency>& wanted) const {
  std::set<JobId> level;
  for (const Dependency& one : wanted) level.insert(one.job);
  for (int depth = 0; depth < limits::kDependencyDepth && !level.empty(); ++depth) {
    if (level.contains(job.id) || level.contains(ArrayOf(job).value != 0 ? ArrayOf(job) : job.id))
      return InvalidField("dependency", "Circular job dependency");
    std::set<JobId> next;
    for (const JobId id : level) {
      const JobPtr parent = jobs_.Find(id);
      if (parent == nullptr) continue;
      for (const Dependency& one : BatchStateOf(*parent).dependencies) next.insert(one.job);
    }
    level = std::move(next);
  }
  return Done{};
}

}  // namespace muster
