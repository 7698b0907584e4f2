#include "schedd/text/indexes.h"

namespace muster {
namespace {

// Digits only, at most 9 of them.
std::optional<std::int64_t> ReadIndex(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

}  // namespace

std::optional<std::int64_t> CountIndexes(std::string_view text, std::int64_t completions) {
  std::int64_t last = -1;
  std::int64_t count = 0;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view interval = text.substr(0, comma);
    const std::size_t dash = interval.find('-');
    const auto first = ReadIndex(interval.substr(0, dash));
    const auto end = dash == std::string_view::npos ? first : ReadIndex(interval.substr(dash + 1));
    if (!first || !end || *first <= last || *end < *first || *end >= completions)
      return std::nullopt;
    // Kubernetes writes a single index without a dash.
    if (dash != std::string_view::npos && *end == *first) return std::nullopt;
    count += *end - *first + 1;
    last = *end;
    if (comma == std::string_view::npos) return count;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace muster
