// Outcomes are kept by index only while something failed or may fail: at most kMostTasks indexes,
// so that an array of a million waiting tasks costs no more than that.
#include "clients/slurm/task_outcomes.h"

#include <algorithm>

#include "clients/slurm/task_ranges.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kMostTasks = 100'000;
constexpr const char* kNoSuchTask = "Invalid job id specified";

template <typename Visit>
void ForEachTask(const TaskRanges& ranges, const Visit& visit) {
  std::size_t left = kMostTasks;
  for (const TaskRange& range : ranges) {
    for (std::int64_t task = range.first; task <= range.last && left > 0;
         task += range.step, --left)
      visit(static_cast<std::int32_t>(task));
  }
}

}  // namespace

void TaskOutcomes::Add(const JobRow& row, const std::string& failure) {
  if (row.array_job_id == 0) {
    if (!failure.empty()) failures_.push_back(failure);
    return;
  }
  of_tasks_ = true;
  array_ = row.array_job_id;
  if (!IsArrayRecord(row)) {
    tasks_[static_cast<std::int32_t>(row.array_task_id)] = failure;
    return;
  }
  const auto waiting = ParseTasks(row.extra->waiting_tasks);
  if (!waiting) return;
  ForEachTask(spec_.tasks_only ? CommonTasks(*waiting, spec_.tasks) : *waiting,
              [&](std::int32_t task) { tasks_[task] = failure; });
}

// Tasks that were cancelled while they waited never became jobs: they count only if nothing else of
// the array is left.
bool TaskOutcomes::Skips(const JobRow& row, const std::string& finished) {
  if (row.array_job_id == 0) return false;
  if (!IsArrayRecord(row)) return Add(row, finished), true;
  of_tasks_ = true;
  array_ = row.array_job_id;
  ForEachTask(ParseTasks(row.extra->waiting_tasks).value_or(TaskRanges{}),
              [&](std::int32_t task) { cancelled_[task] = finished; });
  return true;
}

std::vector<std::string> TaskOutcomes::Lines(const std::string& text) const {
  std::vector<std::string> lines;
  for (const std::string& failure : failures_) lines.push_back(failure + " for job " + text);
  if (!of_tasks_) return lines;
  std::map<std::int32_t, std::string> tasks = tasks_;
  if (tasks.empty() && !spec_.tasks_only) tasks = cancelled_;
  if (spec_.tasks_only)
    ForEachTask(spec_.tasks, [&](std::int32_t task) { tasks.try_emplace(task, kNoSuchTask); });
  const bool failed =
      std::any_of(tasks.begin(), tasks.end(), [](const auto& one) { return !one.second.empty(); });
  if (!failed) return lines;
  std::map<std::string, TaskRanges> by_words;
  for (const auto& [task, words] : tasks) {
    TaskRanges& ranges = by_words[words];
    if (!ranges.empty() && ranges.back().last + 1 == task) {
      ranges.back().last = task;
    } else {
      ranges.push_back({task, task, 1});
    }
  }
  std::map<std::int32_t, std::string> by_first;
  for (const auto& [words, ranges] : by_words) {
    by_first[ranges.front().first] = std::to_string(array_ == 0 ? spec_.id : array_) + "_" +
                                     TasksText(ranges) + ": " +
                                     (words.empty() ? "No error" : words);
  }
  for (auto& [first, line] : by_first) lines.push_back(std::move(line));
  return lines;
}

}  // namespace muster::slurm
