// Pairs of a number and a unit, added up. A bare number is in seconds, but only if it is alone.
#include "schedd/text/duration.h"

namespace muster {

std::optional<std::int64_t> ParseDurationMs(std::string_view text) {
  constexpr std::int64_t kTenYearsMs = 10LL * 365 * 86'400 * 1000;
  std::int64_t total = 0;
  bool any = false;
  while (!text.empty()) {
    std::int64_t number = 0;
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      number = number * 10 + (text[digits++] - '0');
      if (number > kTenYearsMs) return std::nullopt;
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
    std::int64_t unit = 1000;
    if (text.starts_with("ms")) {
      unit = 1;
      text.remove_prefix(2);
    } else if (!text.empty()) {
      switch (text[0]) {
        case 's':
          break;
        case 'm':
          unit = 60'000;
          break;
        case 'h':
          unit = 3'600'000;
          break;
        case 'd':
          unit = 86'400'000;
          break;
        default:
          return std::nullopt;
      }
      text.remove_prefix(1);
    } else if (any) {
      // "1h30": the unit of 30 is not clear.
      return std::nullopt;
    }
    if (number > kTenYearsMs / unit) return std::nullopt;
    total += number * unit;
    any = true;
  }
  if (!any || total > kTenYearsMs) return std::nullopt;
  return total;
}

}  // namespace muster
