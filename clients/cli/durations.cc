// Durations in kubectl's short form (HumanDuration of k8s.io/apimachinery): the longer the
// duration, the fewer units are shown.
#include "clients/cli/durations.h"

#include <time.h>

#include "schedd/base/time.h"
#include "schedd/text/duration.h"

namespace muster::cli {

std::string ShortDuration(std::int64_t seconds) {
  if (seconds < 0) seconds = 0;
  const auto two = [](std::int64_t a, const char* unit_a, std::int64_t b, const char* unit_b) {
    return std::to_string(a) + unit_a + (b == 0 ? "" : std::to_string(b) + unit_b);
  };
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 600) return two(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 3 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 8 * 3600) return two(seconds / 3600, "h", seconds / 60 % 60, "m");
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

std::string Age(const std::string& stamp) {
  WallTime when;
  if (stamp.empty() || !ParseRfc3339(stamp, &when)) return "";
  return ShortDuration(::time(nullptr) - when.us / kMicrosPerSecond);
}

std::string TimeText(const std::string& text) {
  WallTime when;
  if (ParseRfc3339(text, &when)) return text;
  const auto ms = ParseDurationMs(text);
  if (!ms) return "";
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  when.us = now.tv_sec * kMicrosPerSecond + now.tv_nsec / 1000 - *ms * 1000;
  return FormatRfc3339Micros(when);
}

}  // namespace muster::cli
