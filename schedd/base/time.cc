// RFC 3339 times, written and parsed with the C library's calendar functions in UTC. Times before
// 1970 are rounded towards the past, so that the fraction is never negative.
#include "schedd/base/time.h"

#include <cstdio>
#include <ctime>

namespace muster {
namespace {

// gmtime_r is reentrant; gmtime is not.
std::tm UtcOf(WallTime time) {
  std::int64_t seconds = time.us / kMicrosPerSecond;
  if (time.us % kMicrosPerSecond < 0) --seconds;
  const auto stamp = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&stamp, &parts);
  return parts;
}

// "" for a time that is not set.
std::string FormatWithFraction(WallTime time, bool micros) {
  if (!time.set()) return "";
  const std::tm parts = UtcOf(time);
  char buffer[64];
  const int size =
      std::snprintf(buffer, sizeof buffer, "%04d-%02d-%02dT%02d:%02d:%02d", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  std::string text(buffer, static_cast<std::size_t>(size));
  if (micros) {
    std::int64_t rest = time.us % kMicrosPerSecond;
    if (rest < 0) rest += kMicrosPerSecond;
    std::snprintf(buffer, sizeof buffer, ".%06d", static_cast<int>(rest));
    text += buffer;
  }
  return text + "Z";
}

// The end of an RFC 3339 time: "Z", "+hh:mm" or "-hh:mm", and nothing after it.
bool ParseOffset(const char* rest, int* offset_seconds) {
  if (rest[0] == 'Z' && rest[1] == '\0') {
    *offset_seconds = 0;
    return true;
  }
  int hours = 0;
  int minutes = 0;
  int used = 0;
  if ((rest[0] != '+' && rest[0] != '-') ||
      std::sscanf(rest + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || rest[1 + used] != '\0') {
    return false;
  }
  *offset_seconds = (hours * 3600 + minutes * 60) * (rest[0] == '-' ? -1 : 1);
  return true;
}

}  // namespace

std::string FormatRfc3339(WallTime time) { return FormatWithFraction(time, false); }
std::string FormatRfc3339Micros(WallTime time) { return FormatWithFraction(time, true); }

// timegm normalises out-of-range fields, so "2026-02-30" is read as March 2.
bool ParseRfc3339(const std::string& text, WallTime* out) {
  std::tm parts{};
  int used = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6) {
    return false;
  }
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const char* rest = text.c_str() + used;
  // Digits beyond microseconds are read and dropped.
  std::int64_t micros = 0;
  if (*rest == '.') {
    std::int64_t unit = 100'000;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) micros += (*rest - '0') * unit;
  }
  int offset = 0;
  if (!ParseOffset(rest, &offset)) return false;
  out->us = (static_cast<std::int64_t>(timegm(&parts)) - offset) * kMicrosPerSecond + micros;
  return true;
}

}  // namespace muster
