// Ranges with the step 1, the usual ones, are cut by arithmetic. Where two ranges with steps meet,
// the indexes of the shorter one are looked at one by one and put together again; an array has at
// most kArrayIndexMax of them.
#include "schedd/model/task_ranges.h"

#include <algorithm>

#include "schedd/base/check.h"

namespace muster {
namespace {

std::int64_t CountOfRange(const TaskRange& range) {
  return (static_cast<std::int64_t>(range.last) - range.first) / range.step + 1;
}

bool RangeHas(const TaskRange& range, std::int32_t index) {
  return index >= range.first && index <= range.last && (index - range.first) % range.step == 0;
}

// The last index of the range is one of its indexes, and a single index has the step 1, so that
// equal sets are equal values.
TaskRange Normal(TaskRange range) {
  range.last -= (range.last - range.first) % range.step;
  if (range.last == range.first) range.step = 1;
  return range;
}

// Adds a range behind the others; one that goes on where the last one ends lengthens it.
void Append(TaskRange range, TaskRanges* out) {
  range = Normal(range);
  if (!out->empty()) {
    TaskRange& before = out->back();
    const std::int64_t gap = static_cast<std::int64_t>(range.first) - before.last;
    const bool one = range.first == range.last;
    if (gap == before.step && (one || range.step == before.step)) {
      before.last = range.last;
      return;
    }
  }
  out->push_back(range);
}

// Adds one index behind the others. Two single indexes become a range when a third one follows at
// the same distance, so "1,5,9" is 1-9:4 and "1,5" stays as it is.
void AppendIndex(std::int32_t index, TaskRanges* out) {
  const std::size_t size = out->size();
  if (size >= 2) {
    TaskRange& last = (*out)[size - 1];
    TaskRange& before = (*out)[size - 2];
    const bool singles = last.first == last.last && before.first == before.last;
    if (singles && last.first - before.first == index - last.first) {
      before.step = last.first - before.first;
      before.last = index;
      out->pop_back();
      return;
    }
  }
  Append({index, index, 1}, out);
}

// The part of the range between two indexes, both included; nothing if it has no index there.
void AppendPart(const TaskRange& range, std::int64_t from, std::int64_t to, TaskRanges* out) {
  std::int64_t first = range.first;
  if (from > first) first += (from - first + range.step - 1) / range.step * range.step;
  const std::int64_t last = std::min<std::int64_t>(to, range.last);
  if (first > last) return;
  Append({static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), range.step}, out);
}

void AppendCommon(const TaskRange& a, const TaskRange& b, TaskRanges* out) {
  if (b.step == 1 || b.first == b.last) {
    if (b.first == b.last && !RangeHas(a, b.first)) return;
    return AppendPart(a, b.first, b.last, out);
  }
  if (a.step == 1) return AppendPart(b, a.first, a.last, out);
  const bool a_shorter = CountOfRange(a) < CountOfRange(b);
  const TaskRange& shorter = a_shorter ? a : b;
  const TaskRange& other = a_shorter ? b : a;
  for (std::int64_t i = shorter.first; i <= shorter.last; i += shorter.step) {
    const auto index = static_cast<std::int32_t>(i);
    if (RangeHas(other, index)) AppendIndex(index, out);
  }
}

// One range without the indexes of `gone`, which are all in it and in order.
void AppendWithout(const TaskRange& range, const TaskRanges& gone, TaskRanges* out) {
  std::int64_t next = range.first;
  for (const TaskRange& one : gone) {
    AppendPart(range, next, static_cast<std::int64_t>(one.first) - 1, out);
    // What lies between the indexes of `one` stays.
    if (one.step > range.step) {
      for (std::int64_t i = one.first; i < one.last; i += one.step)
        AppendPart(range, i + 1, i + one.step - 1, out);
    }
    next = static_cast<std::int64_t>(one.last) + 1;
  }
  AppendPart(range, next, range.last, out);
}

}  // namespace

std::int64_t CountOf(const TaskRanges& ranges) {
  std::int64_t count = 0;
  for (const TaskRange& range : ranges) count += CountOfRange(range);
  return count;
}

bool HasTask(const TaskRanges& ranges, std::int32_t index) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [index](const TaskRange& range) { return RangeHas(range, index); });
}

std::int32_t TakeFirst(TaskRanges* ranges) {
  MUSTER_CHECK(!ranges->empty());
  TaskRange& range = ranges->front();
  const std::int32_t index = range.first;
  if (range.first + range.step > range.last) {
    ranges->erase(ranges->begin());
  } else {
    range.first += range.step;
    range = Normal(range);
  }
  return index;
}

std::vector<std::int32_t> TasksOf(const TaskRanges& ranges) {
  std::vector<std::int32_t> indexes;
  indexes.reserve(static_cast<std::size_t>(CountOf(ranges)));
  for (const TaskRange& range : ranges) {
    for (std::int64_t i = range.first; i <= range.last; i += range.step)
      indexes.push_back(static_cast<std::int32_t>(i));
  }
  return indexes;
}

TaskRanges RangesOf(const std::vector<std::int32_t>& indexes) {
  TaskRanges ranges;
  for (const std::int32_t index : indexes) AppendIndex(index, &ranges);
  return ranges;
}

// Both are in order, so each pair that meets is looked at once and the results are in order.
TaskRanges Common(const TaskRanges& a, const TaskRanges& b) {
  TaskRanges common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    AppendCommon(a[i], b[j], &common);
    if (a[i].last < b[j].last) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

TaskRanges Without(const TaskRanges& a, const TaskRanges& b) {
  TaskRanges left;
  for (const TaskRange& range : a) AppendWithout(range, Common({range}, b), &left);
  return left;
}

std::string IndexText(const TaskRanges& ranges) {
  std::string text;
  for (const TaskRange& range : ranges) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last == range.first) continue;
    text += (range.last - range.first == range.step && range.step > 1 ? ',' : '-');
    text += std::to_string(range.last);
    if (range.step > 1 && range.last - range.first > range.step)
      text += ':' + std::to_string(range.step);
  }
  return text;
}

}  // namespace muster
