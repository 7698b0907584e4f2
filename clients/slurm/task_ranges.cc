// Lists of array tasks: parsed and compared as ranges, so that an array of a million tasks costs no
// more than one of two.
#include "clients/slurm/task_ranges.h"

#include <algorithm>
#include <cstdlib>

#include "clients/slurm/command.h"

namespace muster::slurm {
namespace {

constexpr std::size_t kMostRanges = 10'000;
constexpr std::int64_t kHighestTask = 4'000'000;
// The longest list of array tasks in an id; SLURM_BITSTR_LEN changes it.
constexpr std::size_t kShownLength = 64;

std::optional<TaskRange> ParseRange(std::string_view text) {
  std::int64_t step = 1;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto told = ParseCount(text.substr(colon + 1));
    if (!told || *told < 1 || *told > kHighestTask) return std::nullopt;
    step = *told;
    text = text.substr(0, colon);
  }
  const std::size_t dash = text.find('-');
  const auto first = ParseCount(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ParseCount(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > kHighestTask) return std::nullopt;
  const std::int64_t reached = *first + (*last - *first) / step * step;
  return TaskRange{static_cast<std::int32_t>(*first), static_cast<std::int32_t>(reached),
                   static_cast<std::int32_t>(step)};
}

bool InRange(const TaskRange& range, std::int32_t task) {
  return task >= range.first && task <= range.last && (task - range.first) % range.step == 0;
}

// Appends one task; it joins the last range if it continues it.
void AppendTask(std::int32_t task, TaskRanges* out) {
  if (!out->empty() && out->back().step == 1 && out->back().last + 1 == task)
    out->back().last = task;
  else
    out->push_back({task, task, 1});
}

}  // namespace

std::optional<TaskRanges> ParseTasks(std::string_view text) {
  TaskRanges out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto range = ParseRange(text.substr(0, comma));
    if (!range || out.size() >= kMostRanges) return std::nullopt;
    out.push_back(*range);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string TasksText(const TaskRanges& tasks) {
  std::string out;
  for (const TaskRange& range : tasks) {
    if (!out.empty()) out.push_back(',');
    out += std::to_string(range.first);
    if (range.last == range.first) continue;
    out += "-" + std::to_string(range.last);
    if (range.step != 1) out += ":" + std::to_string(range.step);
  }
  return out;
}

bool HasTask(const TaskRanges& tasks, std::int32_t task) {
  return std::any_of(tasks.begin(), tasks.end(),
                     [&](const TaskRange& range) { return InRange(range, task); });
}

// Ranges without a step are cut against each other; only ranges with one are walked.
TaskRanges CommonTasks(const TaskRanges& one, const TaskRanges& other) {
  TaskRanges out;
  for (const TaskRange& a : one) {
    for (const TaskRange& b : other) {
      const std::int32_t first = std::max(a.first, b.first), last = std::min(a.last, b.last);
      if (first > last) continue;
      if (a.step == 1 && b.step == 1) {
        out.push_back({first, last, 1});
        continue;
      }
      const TaskRange& walked = a.step >= b.step ? a : b;
      const TaskRange& asked = a.step >= b.step ? b : a;
      std::int32_t task = walked.first;
      if (first > task) task += (first - task + walked.step - 1) / walked.step * walked.step;
      for (; task <= last; task += walked.step) {
        if (InRange(asked, task)) AppendTask(task, &out);
      }
    }
  }
  return out;
}

std::int64_t CountTasks(const TaskRanges& tasks) {
  std::int64_t out = 0;
  for (const TaskRange& range : tasks) out += (range.last - range.first) / range.step + 1;
  return out;
}

std::string ShownTasks(std::string_view tasks, std::int64_t throttle) {
  const bool single = tasks.find_first_of(",-:") == std::string_view::npos;
  if (single && throttle == 0) return std::string(tasks);
  std::string list(tasks);
  std::size_t limit = kShownLength;
  const char* told = std::getenv("SLURM_BITSTR_LEN");
  const auto asked = ParseCount(told == nullptr ? "" : told);
  if (asked) limit = static_cast<std::size_t>(*asked);
  if (limit != 0 && list.size() > limit) list = list.substr(0, limit) + "...";
  if (throttle != 0) list += "%" + std::to_string(throttle);
  return "[" + list + "]";
}

}  // namespace muster::slurm
