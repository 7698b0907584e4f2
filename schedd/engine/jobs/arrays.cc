// Counts follow the records: each change takes away what the record before stood for and adds what
// the record after stands for. Tasks that ended before a start are counted by the store (Reset), so
// an ended record that enters memory counts nothing. An array is forgotten when the last of its
// jobs leaves memory.
#include "schedd/engine/jobs/arrays.h"

#include <algorithm>
#include <limits>

#include "schedd/base/fault_points.h"
#include "schedd/base/find_in.h"

namespace muster {

JobId ArrayIdOf(const JobRecord& job) {
  return job.batch == nullptr ? JobId{} : job.batch->array_job_id;
}

void Arrays::Reset(const std::vector<ArrayEnds>& ends, WallTime since) {
  arrays_.clear();
  since_ = since;
  for (const ArrayEnds& one : ends) {
    Array& array = arrays_[one.array];
    array.whole = true;
    array.unseen = array.state.tasks = one.ok + one.failed;
    array.state.failed = one.failed;
  }
}

std::optional<ParentState> Arrays::StateOf(JobId array) const {
  const Array* found = FindIn(arrays_, array);
  if (found == nullptr || !found->whole) return std::nullopt;
  ParentState state = found->state;
  if (found->unseen > 0) state.last_begin = std::max(state.last_begin, since_);
  return state;
}

JobPtr Arrays::RecordOf(JobId array, std::int32_t index) const {
  const Array* found = FindIn(arrays_, array);
  if (found == nullptr) return nullptr;
  if (const JobId* task = FindIn(found->tasks, index); task != nullptr) return jobs_.Find(*task);
  for (const auto* records : {&found->waiting, &found->ended}) {
    for (const auto& [id, record] : *records) {
      if (HasTask(BatchStateOf(*record).waiting_tasks, index)) return record;
    }
  }
  return nullptr;
}

std::vector<JobPtr> Arrays::Records(JobId array) const {
  std::vector<JobPtr> all;
  const Array* found = FindIn(arrays_, array);
  if (found == nullptr) return all;
  for (const auto* records : {&found->waiting, &found->ended}) {
    for (const auto& [id, record] : *records) all.push_back(record);
  }
  for (const auto& [index, id] : found->tasks) {
    if (JobPtr job = jobs_.Find(id); job != nullptr) all.push_back(std::move(job));
  }
  return all;
}

std::vector<JobPtr> Arrays::Waiting(JobId array) const {
  std::vector<JobPtr> records;
  if (const Array* found = FindIn(arrays_, array); found != nullptr) {
    for (const auto& [id, record] : found->waiting) records.push_back(record);
  }
  return records;
}

std::vector<JobPtr> Arrays::Tasks(JobId array, const TaskRanges& tasks) const {
  std::vector<JobPtr> jobs;
  const Array* found = FindIn(arrays_, array);
  if (found == nullptr) return jobs;
  for (const TaskRange& range : tasks) {
    const auto end = found->tasks.upper_bound(range.last);
    for (auto task = found->tasks.lower_bound(range.first); task != end; ++task) {
      if ((task->first - range.first) % range.step != 0) continue;
      JobPtr job = jobs_.Find(task->second);
      if (job != nullptr && !IsTerminal(job->state)) jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

// That of the record with the lowest id, which is the array's own as long as it stands for tasks.
std::int32_t Arrays::ThrottleOf(JobId array) const {
  const Array* found = FindIn(arrays_, array);
  if (found == nullptr || found->waiting.empty()) return 0;
  return BatchStateOf(*found->waiting.begin()->second).task_throttle;
}

// A task that was requeued keeps its place under the limit.
std::int64_t Arrays::Room(JobId array) const {
  const std::int32_t throttle = ThrottleOf(array);
  if (throttle == 0 || MUSTER_PLANTED(array_limit_ignored))
    return std::numeric_limits<std::int64_t>::max();
  const Array& found = arrays_.at(array);
  return throttle - found.running - found.queued;
}

void Arrays::Count(const JobRecord& job, std::int64_t sign, Array* array) {
  array->state.Count(job, sign);
  const bool record = IsArrayRecord(job);
  if (HoldsQuota(job.state)) array->running += sign;
  if (!record && job.state == JobState::kPending) array->queued += sign;
}

void Arrays::Index(const JobPtr& job, Array* array) {
  array->waiting.erase(job->id);
  if (!IsArrayRecord(*job)) {
    array->tasks[job->batch->array_task_id] = job->id;
  } else {
    (IsTerminal(job->state) ? array->ended : array->waiting)[job->id] = job;
  }
}

void Arrays::Enter(const JobPtr& job) {
  const JobId id = ArrayIdOf(*job);
  if (id.value == 0) return;
  Array& array = arrays_[id];
  ++array.in_memory;
  Index(job, &array);
  if (!IsTerminal(job->state)) {
    array.whole = true;
    return Count(*job, +1, &array);
  }
  ParentState ended;
  ended.Count(*job, +1);
  array.unseen = std::max<std::int64_t>(0, array.unseen - ended.tasks);
  array.state.last_begin = std::max(array.state.last_begin, ended.last_begin);
}

void Arrays::Change(const JobRecord& before, const JobPtr& job) {
  const JobId id = ArrayIdOf(*job);
  if (id.value == 0) return;
  Array& array = arrays_[id];
  Count(before, -1, &array);
  Count(*job, +1, &array);
  Index(job, &array);
}

void Arrays::ChangeSoft(const JobPtr& job) {
  const JobId id = ArrayIdOf(*job);
  if (id.value != 0) Index(job, &arrays_[id]);
}

// LiveJobs still has the record.
void Arrays::Leave(JobId id) {
  const JobPtr job = jobs_.Find(id);
  const JobId array_id = job == nullptr ? JobId{} : ArrayIdOf(*job);
  if (array_id.value == 0) return;
  Array& array = arrays_.at(array_id);
  array.ended.erase(id);
  if (!IsArrayRecord(*job)) array.tasks.erase(job->batch->array_task_id);
  if (--array.in_memory == 0) arrays_.erase(array_id);
}

}  // namespace muster
