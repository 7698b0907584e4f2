// Who is asked, in this order: the array's counts, if memory has any record of it; the job's own
// record; the store. An ended job never changes, so what the store says of it is final. The record
// of an array and its last task share their id with the array, so the id of an array is found like
// that of any job.
#include "schedd/engine/jobs/parents.h"

#include <algorithm>
#include <set>

#include "schedd/base/limits_dependencies.h"

namespace muster {
namespace {

Parent OneOf(const JobRecord& job, bool is_array) {
  Parent parent{{}, is_array};
  parent.state.Count(job, +1);
  return parent;
}

// A task among those that a record stands for counts as one.
Parent TaskIn(const JobRecord& record) {
  Parent parent = OneOf(record, true);
  for (std::int64_t* count : {&parent.state.tasks, &parent.state.not_begun, &parent.state.starting,
                              &parent.state.open, &parent.state.failed})
    *count = std::min<std::int64_t>(*count, 1);
  return parent;
}

bool AsksForTimes(const Dependency& dependency) {
  return dependency.type == DependencyType::kAfter && dependency.minutes > 0;
}

}  // namespace

std::optional<Parent> Parents::Find(const Dependency& dependency) const {
  if (arrays_.Has(dependency.job)) {
    if (dependency.task >= 0) {
      const JobPtr record = arrays_.RecordOf(dependency.job, dependency.task);
      return record == nullptr ? std::nullopt : std::optional(TaskIn(*record));
    }
    const std::optional<ParentState> state = arrays_.StateOf(dependency.job);
    return state ? std::optional(Parent{*state, true}) : std::nullopt;
  }
  const JobPtr job = jobs_.Find(dependency.job);
  if (job == nullptr) return std::nullopt;
  // A task by the id of its own job: "_TASK" is said of arrays alone.
  if (dependency.task >= 0) return Parent{};
  return OneOf(*job, false);
}

void Parents::Prefetch(const std::vector<JobPtr>& dependents) {
  std::set<JobId> missing;
  std::vector<JobId> arrays;
  for (const JobPtr& job : dependents) {
    for (const Dependency& one : BatchStateOf(*job).dependencies) {
      if (missing.size() == limits::kParentsAtOnce) break;
      const bool asks = !one.failed && one.type != DependencyType::kSingleton;
      if (asks && !Find(one)) missing.insert(one.job);
    }
  }
  if (missing.empty()) return;
  JobQuery query;
  query.ids.assign(missing.begin(), missing.end());
  query.include_deleted = true;
  query.limit = missing.size();
  const auto read = store_.ReadJobs(query);
  if (!read.ok()) {
    prefetched_ = read.error();
    return;
  }
  for (const JobId id : missing) read_[id] = nullptr;
  for (const JobPtr& job : *read) {
    read_[job->id] = job;
    if (ArrayIdOf(*job) == job->id) arrays.push_back(job->id);
  }
  if (arrays.empty()) return;
  const auto ends = store_.ReadArrayEnds(arrays);
  if (!ends.ok()) {
    prefetched_ = ends.error();
    return;
  }
  for (const ArrayEnds& one : *ends) {
    ParentState& state = ends_[one.array];
    state.tasks = one.ok + one.failed;
    state.failed = one.failed;
  }
}

Result<std::optional<Parent>> Parents::Read(const Dependency& dependency) {
  if (auto known = Find(dependency)) return known;
  if (!prefetched_.ok()) return prefetched_.error();
  const auto read = read_.find(dependency.job);
  if (read == read_.end()) return std::optional<Parent>();
  if (read->second == nullptr) return std::optional(Parent{});
  const JobRecord& job = *read->second;
  const bool is_array = ArrayIdOf(job) == job.id;
  if (dependency.task >= 0) {
    if (!is_array) return std::optional(Parent{});
    return ReadTask(dependency);
  }
  if (!is_array) return std::optional(OneOf(job, false));
  const auto ends = ends_.find(job.id);
  Parent parent{ends == ends_.end() ? ParentState{} : ends->second, true};
  if (!AsksForTimes(dependency)) return std::optional(parent);
  return ReadTimes(dependency, parent);
}

Result<std::vector<JobPtr>> Parents::ReadPage(JobId array, JobId after) {
  JobQuery query;
  query.array = array;
  query.include_deleted = true;
  query.after = after;
  query.limit = limits::kParentPage;
  return store_.ReadJobs(query);
}

Result<std::optional<std::vector<JobPtr>>> Parents::Page(JobId array, JobId after) {
  using Jobs = std::optional<std::vector<JobPtr>>;
  if (reads_ >= limits::kParentReads) return Jobs();
  ++reads_;
  auto page = ReadPage(array, after);
  if (!page.ok()) return page.error();
  return Jobs(std::move(*page));
}

// Its own record, or one of tasks that were cancelled together.
Result<std::optional<Parent>> Parents::ReadTask(const Dependency& dependency) {
  const Key key{dependency.job, dependency.task};
  if (const auto known = tasks_.find(key); known != tasks_.end())
    return std::optional(known->second);
  if (reads_ + 2 > limits::kParentReads) return std::optional<Parent>();
  JobQuery query;
  query.array = dependency.job;
  query.include_deleted = true;
  Parent parent;
  for (const std::int32_t index : {dependency.task, -1}) {
    ++reads_;
    query.array_task = index;
    const auto records = store_.ReadJobs(query);
    if (!records.ok()) return records.error();
    for (const JobPtr& job : *records) {
      if (index >= 0 || HasTask(BatchStateOf(*job).waiting_tasks, dependency.task))
        parent = TaskIn(*job);
    }
    if (parent.state.tasks > 0) break;
  }
  tasks_[key] = parent;
  return std::optional(parent);
}

// The times of an array that ended long ago. It takes all reads of the step.
Result<std::optional<Parent>> Parents::ReadTimes(const Dependency& dependency, Parent parent) {
  const Key key{dependency.job, -1};
  if (const auto known = tasks_.find(key); known != tasks_.end())
    return std::optional(known->second);
  if (reads_ > 0) return std::optional<Parent>();
  reads_ = limits::kParentReads;
  ParentState seen;
  JobId after{dependency.job.value - 1};
  for (int i = 0; i < limits::kParentPages; ++i) {
    const auto page = ReadPage(dependency.job, after);
    if (!page.ok()) return page.error();
    for (const JobPtr& job : *page) seen.Count(*job, +1);
    if (page->size() < limits::kParentPage) break;
    after = page->back()->id;
  }
  parent.state.last_begin = seen.last_begin;
  tasks_[key] = parent;
  return std::optional(parent);
}

}  // namespace muster
