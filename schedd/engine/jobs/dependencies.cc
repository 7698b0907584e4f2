// A dependency is judged when its dependent enters memory and whenever its parent moves on. Memory
// has the state of every parent that has not ended, and that of a whole array as counts, so an end
// costs the same whatever the size of the array. Parents that left memory are read from the store,
// by Fire, all of a step together (Parents). What is not known is waited for: a parent that cannot
// be read meets nothing and fails nothing.
#include "schedd/engine/jobs/dependencies.h"

#include <algorithm>

#include "schedd/base/fault_points.h"
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
  by_name_.clear();
  singletons_.clear();
  timed_.clear();
  timer_of_.clear();
  due_.clear();
  again_.clear();
  later_.clear();
  indexes_.clear();
  left_at_ = 0;
}

void Dependencies::Register(const JobRecord& job, bool present) {
  const auto put = [&](auto* index, const auto& key) {
    if (present) {
      (*index)[key].insert(job.id);
    } else if (const auto at = index->find(key); at != index->end()) {
      at->second.erase(job.id);
      if (at->second.empty()) index->erase(at);
    }
  };
  for (const Dependency& one : job.batch_state->dependencies) {
    if (one.type != DependencyType::kSingleton) put(&dependents_, one.job);
  }
  if (!IsSingleton(*job.batch_state)) return;
  if (present) {
    singletons_.emplace(NameKeyOf(job), job.id);
  } else {
    singletons_.erase({NameKeyOf(job), job.id});
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

// After a recovery too: the daemon that died may not have judged it.
void Dependencies::Enter(const JobPtr& job) {
  if (job->batch == nullptr) return;
  if (!IsTerminal(job->state)) by_name_.emplace(NameKeyOf(*job), job->id);
  if (!WaitsForParents(*job)) return;
  Register(*job, true);
  FollowIndexes(job->id, nullptr, job.get());
  due_.insert(job->id);
}

void Dependencies::Change(const JobRecord& before, const JobPtr& job) {
  if (MovesOn(before, *job)) NoteParent(*job);
  if (job->batch == nullptr) return;
  if (before.display_name != job->display_name) {
    by_name_.erase({NameKeyOf(before), job->id});
    by_name_.emplace(NameKeyOf(*job), job->id);
  }
  if (IsTerminal(job->state)) {
    by_name_.erase({NameKeyOf(*job), job->id});
  } else if (IsTerminal(before.state)) {
    by_name_.emplace(NameKeyOf(*job), job->id);
  }
  const bool waited = WaitsForParents(before), waits = WaitsForParents(*job);
  if (before.batch_state == job->batch_state && before.display_name == job->display_name &&
      waited == waits) {
    return;
  }
  FollowIndexes(job->id, waited ? &before : nullptr, waits ? job.get() : nullptr);
  if (waited) Register(before, false);
  if (waits) {
    Register(*job, true);
    due_.insert(job->id);
  } else {
    SetTimer(job->id, {});
  }
}

void Dependencies::Leave(JobId id) {
  left_at_ = commits_.last_seq();
  SetTimer(id, {});
  due_.erase(id);
  const JobPtr job = jobs_.Find(id);
  if (job == nullptr || job->batch == nullptr) return;
  by_name_.erase({NameKeyOf(*job), id});
}

// Those of its own id, of its array, and, at an end, the singletons that come after it.
void Dependencies::NoteParent(const JobRecord& parent) {
  if (MUSTER_PLANTED(dependents_not_told)) return;
  const auto note = [this](JobId id) {
    const auto found = dependents_.find(id);
    if (found != dependents_.end()) due_.insert(found->second.begin(), found->second.end());
  };
  note(parent.id);
  const JobId array = ArrayIdOf(parent);
  if (array.value != 0 && array != parent.id) note(array);
  if (array.value != 0) NoteIndex(parent);
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
    return ArrayIdOf(one).value != 0 ? ArrayIdOf(one) : one.id;
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

// nullopt: not known yet, and the dependent is asked for again.
Result<std::optional<Parent>> Dependencies::Ask(JobId dependent, const Dependency& one,
                                                Parents* parents) {
  // The store may not have the end yet of a parent that has just left memory: what it says now
  // would be taken for final.
  const bool on_its_way = commits_.SettledSeq() < left_at_ && !MUSTER_PLANTED(end_on_its_way_asked);
  if (on_its_way && !parents->Find(one)) {
    later_.insert(dependent);
    return std::optional<Parent>();
  }
  auto parent = parents->Read(one);
  if (!parent.ok()) {
    Log(LogLevel::kWarning, "engine", "dependency_waits", {{"err", parent.error().detail}});
    later_.insert(dependent);
  } else if (!*parent) {
    again_.insert(dependent);
  }
  return parent;
}

// What is decided about a new job is written before the open commit: if the daemon dies between the
// two, the new job would go by an end that has never been. In memory it is judged again, by a
// commit behind its parent's. The counts of an array do not say whether they are durable.
bool Dependencies::IsDurable(JobId parent) const {
  return !arrays_.Has(parent) && commits_.committed().jobs.Find(parent) == jobs_.Find(parent);
}

// An array that a dependency means as a whole is named as one from then on. A new job is no
// singleton yet: earlier ones may be on their way to the store, and are in memory when it is.
DependencyJudgement Dependencies::JudgeOne(const JobRecord& job, Dependency* one,
                                           Parents* parents) {
  if (MUSTER_PLANTED(dependency_ignored)) return {DependencyVerdict::kMet};
  if (one->type == DependencyType::kSingleton)
    return {JudgeSingleton(parents == nullptr || EarlierLeft(job))};
  std::optional<Parent> parent;
  if (parents == nullptr) {
    parent = Parents(context_.store, jobs_, arrays_).Find(*one);
  } else if (const auto asked = Ask(job.id, *one, parents); asked.ok()) {
    parent = *asked;
  }
  if (!parent) return {};
  if (one->task == -1 && parent->is_array) one->task = kAllTasks;
  if (parents == nullptr && !IsDurable(one->job)) return {};
  if (parent->is_array && IsByIndex(job, *one)) return {};
  return JudgeDependency(*one, parent->state, context_.clock.WallNow());
}

// Judges all dependencies of a record; true if it was changed. `due`: when time meets the next one.
bool Dependencies::Judge(JobRecord* job, Parents* parents, WallTime* due) {
  BatchState state = *job->batch_state;
  bool changed = false;
  for (std::size_t i = 0; i < state.dependencies.size();) {
    Dependency& one = state.dependencies[i];
    if (one.failed) {
      ++i;
      continue;
    }
    const Dependency asked = one;
    const DependencyJudgement judgement = JudgeOne(*job, &one, parents);
    changed = changed || !(one == asked);
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
  Judge(job, nullptr, &due);
}

// One dependent in memory. A job that can never start is cancelled if it asked for that.
void Dependencies::JudgeDependent(const JobPtr& dependent, Parents* parents) {
  const JobPtr job = JudgeByIndex(dependent, parents);
  if (!WaitsForParents(*job)) return;
  auto draft = std::make_shared<JobRecord>(*job);
  WallTime due;
  const bool changed = Judge(draft.get(), parents, &due);
  JobPtr now = job;
  if (changed) {
    changes::SayWhyItWaits(draft.get());
    now = jobs_.Put(job, std::move(draft), "JobDependencyChanged");
  }
  due_.erase(job->id);
  const WallTime soon = context_.clock.WallNow().PlusSeconds(1);
  if (later_.erase(job->id) > 0) due = due.set() ? std::min(due, soon) : soon;
  if (again_.erase(job->id) > 0) due_.insert(job->id);
  SetTimer(job->id, due);
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
  const std::size_t most = std::min(limits::kDependentsAtOnce, commits_.Room());
  std::vector<JobPtr> some;
  for (auto at = due_.begin(); at != due_.end() && some.size() < most;) {
    JobPtr job = jobs_.Find(*at);
    if (job == nullptr || !WaitsForParents(*job)) {
      at = due_.erase(at);
      continue;
    }
    some.push_back(std::move(job));
    ++at;
  }
  if (some.empty()) return false;
  Parents parents(context_.store, jobs_, arrays_);
  parents.Prefetch(some);
  for (const JobPtr& one : some) {
    if (commits_.Room() == 0) break;
    due_.erase(one->id);
    const JobPtr job = jobs_.Find(one->id);
    if (job != nullptr && WaitsForParents(*job)) JudgeDependent(job, &parents);
  }
  return true;
}

// Only jobs in memory that wait themselves can lead on.
Status Dependencies::CheckCircle(const JobRecord& job,
                                 const std::vector<Dependency>& wanted) const {
  std::set<JobId> level;
  for (const Dependency& one : wanted) level.insert(one.job);
  for (int depth = 0; depth < limits::kDependencyDepth && !level.empty(); ++depth) {
    const JobId array = ArrayIdOf(job);
    if (level.contains(job.id) || (array.value != 0 && level.contains(array)))
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
