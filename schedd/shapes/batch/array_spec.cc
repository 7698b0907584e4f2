// Parts that do not overlap are sorted and need no more than themselves. Only if parts overlap are
// their indexes marked one by one, in a bit for each index up to kArrayIndexMax (half a megabyte),
// and put together again.
#include "schedd/shapes/batch/array_spec.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "schedd/base/limits_slurm_arrays.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {
namespace {

Error MalformedArray() { return InvalidField("array", "Invalid job array specification"); }

// A decimal number without sign.
std::optional<std::int32_t> ReadIndex(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return text[0] == '-' ? std::nullopt : std::optional(number);
}

// One "3", "0-15" or "0-15:4"; nothing if it is malformed.
std::optional<TaskRange> ReadRange(std::string_view text) {
  TaskRange range;
  const std::size_t colon = text.find(':');
  const std::size_t dash = text.find('-');
  if (colon != std::string_view::npos) {
    const auto step = ReadIndex(text.substr(colon + 1));
    if (!step || *step == 0 || dash == std::string_view::npos) return std::nullopt;
    range.step = *step;
    text = text.substr(0, colon);
  }
  const auto first = ReadIndex(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : ReadIndex(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > kArrayIndexMax) return std::nullopt;
  range.first = *first;
  range.last = *last - (*last - *first) % range.step;
  if (range.first == range.last) range.step = 1;
  return range;
}

bool Overlap(const TaskRanges& sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].first <= sorted[i - 1].last) return true;
  }
  return false;
}

// Indexes of parts that overlap, in order and once each.
TaskRanges Together(const TaskRanges& parts) {
  std::vector<bool> marked(static_cast<std::size_t>(kArrayIndexMax) + 1);
  for (const TaskRange& part : parts) {
    for (std::int64_t i = part.first; i <= part.last; i += part.step)
      marked[static_cast<std::size_t>(i)] = true;
  }
  std::vector<std::int32_t> indexes;
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (marked[i]) indexes.push_back(static_cast<std::int32_t>(i));
  }
  return RangesOf(indexes);
}

// Ranges that go on where the one before ends become one.
TaskRanges Joined(const TaskRanges& sorted) {
  TaskRanges joined;
  for (const TaskRange& range : sorted) {
    if (!joined.empty() && joined.back().step == 1 && range.step == 1 &&
        joined.back().last + 1 == range.first) {
      joined.back().last = range.last;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace

Result<ArraySpec> ParseArraySpec(std::string_view spec) {
  ArraySpec out;
  const std::size_t percent = spec.find('%');
  if (percent != std::string_view::npos) {
    const auto throttle = ReadIndex(spec.substr(percent + 1));
    if (!throttle || *throttle == 0) return MalformedArray();
    out.throttle = *throttle;
    spec = spec.substr(0, percent);
  }
  while (true) {
    const std::size_t comma = spec.find(',');
    const auto range = ReadRange(spec.substr(0, comma));
    if (!range || out.tasks.size() >= limits::kArrayRanges) return MalformedArray();
    out.tasks.push_back(*range);
    if (comma == std::string_view::npos) break;
    spec.remove_prefix(comma + 1);
  }
  std::sort(out.tasks.begin(), out.tasks.end(),
            [](const TaskRange& a, const TaskRange& b) { return a.first < b.first; });
  out.tasks = Overlap(out.tasks) ? Together(out.tasks) : Joined(out.tasks);
  if (out.tasks.size() > limits::kArrayRanges) return MalformedArray();
  return out;
}

}  // namespace muster::shapes
