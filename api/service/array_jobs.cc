// Finds a task of an array. Holds SchedulerService::FindTask.
//
// A task that has started has a record of its own; one that waits is in the record of its array's
// waiting tasks, which is then the answer; several are found if one record has them all. The store
// knows the records of an array by its index on them, and has whatever a published view shows; the
// record itself is taken from the view, if it is in memory. Who may not see the array costs the
// read of the array's own record and no other.
#include <algorithm>
#include <charconv>

#include "api/service/array_ids.h"
#include "api/service/job_rights.h"
#include "api/service/scheduler_service.h"
#include "schedd/shapes/batch/array_spec.h"

namespace muster::api {
namespace {

// Records of waiting tasks of one array: it has been divided that often.
constexpr std::size_t kDivisions = 1000;

}  // namespace

std::optional<TaskIds> ParseTaskIds(std::string_view text) {
  const std::size_t split = text.find('_');
  if (split == std::string_view::npos) return std::nullopt;
  TaskIds ids;
  const auto parsed = std::from_chars(text.data(), text.data() + split, ids.array.value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + split || ids.array.value <= 0)
    return std::nullopt;
  std::string_view tasks = text.substr(split + 1);
  if (tasks == "*") {
    ids.tasks = {{0, kArrayIndexMax, 1}};
    return ids;
  }
  const bool list = tasks.size() > 2 && tasks.front() == '[' && tasks.back() == ']';
  if (list) tasks = tasks.substr(1, tasks.size() - 2);
  const Result<shapes::ArraySpec> spec = shapes::ParseArraySpec(tasks);
  if (!spec.ok() || (!list && CountOf(spec->tasks) != 1)) return std::nullopt;
  ids.tasks = spec->tasks;
  return ids;
}

Result<JobPtr> SchedulerService::FindTask(const std::string& id, const TaskIds& ids,
                                          const JobTest& seen) const {
  Result<JobPtr> array = FindJobById(ids.array);
  if (!array.ok() || !seen(**array)) return array;
  const Error missing = NotFound("job \"" + id + "\" does not exist");
  const std::int64_t count = CountOf(ids.tasks);
  JobQuery query;
  query.array = ids.array;
  query.include_deleted = true;
  if (count == 1) {
    query.array_task = ids.tasks.front().first;
    query.limit = 1;
    const Result<std::vector<JobPtr>> own = store_.ReadJobs(query);
    if (!own.ok()) return own.error();
    if (!own->empty()) return FindJobById(own->front()->id);
  }
  query.array_task = -1;
  query.limit = kDivisions;
  const Result<std::vector<JobPtr>> records = store_.ReadJobs(query);
  if (!records.ok()) return records.error();
  for (const JobPtr& record : *records) {
    Result<JobPtr> now = FindJobById(record->id);
    if (now.ok() && CountOf(Common(BatchStateOf(**now).waiting_tasks, ids.tasks)) == count)
      return now;
  }
  return missing;
}

}  // namespace muster::api
