// Durations, points in time and amounts of memory as Slurm writes and reads them.
//
// Everything that a user writes is parsed by hand and bounded (a century), so that products cannot
// overflow. Points in time are local: mktime turns a calendar date into seconds and corrects days
// beyond the end of a month, which "tomorrow" relies on. The API's stamps are always UTC and are
// converted by arithmetic alone (ParseStamp), because a list has hundreds of thousands of them and
// mktime is slow.
#include "clients/slurm/slurm_time.h"

#include <time.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <vector>

#include "clients/slurm/same_word.h"

namespace muster::slurm {
namespace {

constexpr std::int64_t kDay = 86'400;
// A bound on every number that a user writes, in seconds.
constexpr std::int64_t kLongestTimeLimit = 365 * kDay * 100;

// Decimal digits alone, at most kLongestTimeLimit.
std::optional<std::int64_t> Number(std::string_view text) {
  std::int64_t value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > kLongestTimeLimit)
    return std::nullopt;
  return value;
}

// Splits at `separator` and parses each part as a number; nullopt if one is none.
std::optional<std::vector<std::int64_t>> Numbers(std::string_view text, char separator) {
  std::vector<std::int64_t> out;
  for (;;) {
    const std::size_t at = text.find(separator);
    const auto number = Number(text.substr(0, at));
    if (!number) return std::nullopt;
    out.push_back(*number);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

// Seconds since 1970 of a local date and time; daylight saving time is looked up.
std::int64_t LocalToEpoch(int year, int month, int day, std::int64_t second_of_day) {
  struct tm parts {};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = static_cast<int>(second_of_day / 3600);
  parts.tm_min = static_cast<int>(second_of_day / 60 % 60);
  parts.tm_sec = static_cast<int>(second_of_day % 60);
  parts.tm_isdst = -1;
  return ::mktime(&parts);
}

// "HH:MM[:SS]" as seconds since midnight.
std::optional<std::int64_t> TimeOfDay(std::string_view text) {
  const auto parts = Numbers(text, ':');
  if (!parts || parts->size() < 2 || parts->size() > 3) return std::nullopt;
  const std::int64_t seconds = parts->size() == 3 ? (*parts)[2] : 0;
  if ((*parts)[0] > 23 || (*parts)[1] > 59 || seconds > 59) return std::nullopt;
  return (*parts)[0] * 3600 + (*parts)[1] * 60 + seconds;
}

struct Date {
  int year = 0, month = 0, day = 0;
};

// A date in range. A year below 100 is of this century.
std::optional<Date> Checked(std::int64_t year, std::int64_t month, std::int64_t day) {
  if (year < 100) year += 2000;
  if (month < 1 || month > 12 || day < 1 || day > 31 || year < 1970 || year > 9999)
    return std::nullopt;
  return Date{static_cast<int>(year), static_cast<int>(month), static_cast<int>(day)};
}

// YYYY-MM-DD, MM/DD[/YY], MM.DD[.YY] or MMDD[YY]; without a year it is this one.
std::optional<Date> ParseDate(std::string_view text, int this_year) {
  if (text.size() == 10 && text[4] == '-') {
    const auto parts = Numbers(text, '-');
    if (!parts || parts->size() != 3) return std::nullopt;
    return Checked((*parts)[0], (*parts)[1], (*parts)[2]);
  }
  for (const char separator : {'/', '.'}) {
    if (text.find(separator) == std::string_view::npos) continue;
    const auto parts = Numbers(text, separator);
    if (!parts || parts->size() < 2 || parts->size() > 3) return std::nullopt;
    return Checked(parts->size() == 3 ? (*parts)[2] : this_year, (*parts)[0], (*parts)[1]);
  }
  const auto digits = Number(text);
  if (!digits || (text.size() != 4 && text.size() != 6)) return std::nullopt;
  if (text.size() == 4) return Checked(this_year, *digits / 100, *digits % 100);
  return Checked(*digits % 100, *digits / 10000, *digits / 100 % 100);
}

// "minutes" or "minute" as seconds; no unit means seconds.
std::optional<std::int64_t> UnitSeconds(std::string_view unit) {
  static constexpr std::pair<const char*, std::int64_t> kUnits[] = {
      {"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", kDay}, {"week", 7 * kDay}};
  if (unit.empty()) return 1;
  for (const auto& [name, seconds] : kUnits) {
    if (SameWord(unit, name) ||
        (unit.ends_with('s') && SameWord(unit.substr(0, unit.size() - 1), name))) {
      return seconds;
    }
  }
  return std::nullopt;
}

// What follows "now": "", "-2days", "+90".
std::optional<std::int64_t> RelativeToNow(std::string_view rest, std::int64_t now) {
  if (rest.empty()) return now;
  const bool plus = rest[0] == '+';
  if (!plus && rest[0] != '-') return std::nullopt;
  rest.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') ++digits;
  const auto count = Number(rest.substr(0, digits));
  const auto unit = UnitSeconds(rest.substr(digits));
  if (!count || !unit) return std::nullopt;
  return plus ? now + *count * *unit : now - *count * *unit;
}

// The days since 1970 of a local date; noon keeps daylight saving time out of the division.
std::int64_t DaysOf(struct tm date) {
  date.tm_hour = 12;
  return ::timegm(&date) / kDay;
}

// The format that SLURM_TIME_FORMAT=relative means: the clock time for today, the weekday for the
// next days, else the date.
const char* RelativeFormat(const struct tm& when) {
  const time_t now = WallSeconds();
  struct tm today {};
  ::localtime_r(&now, &today);
  const std::int64_t days = DaysOf(when) - DaysOf(today);
  if (days == 0) return "%H:%M:%S";
  if (days == -1) return "Ystday %H:%M";
  if (days == 1) return "Tomorr %H:%M";
  if (when.tm_year != today.tm_year) return "%-d %b %Y";
  return days > 1 && days < 7 ? "%a %H:%M" : "%-d %b";
}

}  // namespace

std::int64_t WallSeconds() { return ::time(nullptr); }

// With days the numbers behind the dash are hours, minutes, seconds; without days one number is
// minutes, two are minutes and seconds, three are hours, minutes and seconds.
std::optional<std::int64_t> ParseTimeLimit(std::string_view text) {
  if (SameWord(text, "UNLIMITED") || SameWord(text, "INFINITE")) return 0;
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto number = Number(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const auto parts = Numbers(text, ':');
  if (!parts || parts->size() > 3) return std::nullopt;
  const auto part = [&](std::size_t i) { return i < parts->size() ? (*parts)[i] : 0; };
  std::int64_t seconds = 0;
  if (dash != std::string_view::npos)
    seconds = days * kDay + part(0) * 3600 + part(1) * 60 + part(2);
  else if (parts->size() == 1)
    seconds = part(0) * 60;
  else if (parts->size() == 2)
    seconds = part(0) * 60 + part(1);
  else
    seconds = part(0) * 3600 + part(1) * 60 + part(2);
  if (seconds > kLongestTimeLimit) return std::nullopt;
  return seconds;
}

// A "B" may follow the unit ("512MB") but not the number alone.
std::optional<std::int64_t> ParseMemoryMb(std::string_view text) {
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) {
    text.remove_suffix(1);
    if (text.empty() || (text.back() >= '0' && text.back() <= '9')) return std::nullopt;
  }
  char unit = 'M';
  if (!text.empty() && (text.back() < '0' || text.back() > '9')) {
    unit = static_cast<char>(text.back() & ~0x20);
    text.remove_suffix(1);
  }
  const auto number = Number(text);
  if (!number) return std::nullopt;
  switch (unit) {
    case 'K':
      return (*number + 1023) / 1024;
    case 'M':
      return *number;
    case 'G':
      return *number * 1024;
    case 'T':
      return *number * 1024 * 1024;
    default:
      return std::nullopt;
  }
}

void AppendShortDuration(std::int64_t seconds, std::string* out) {
  char text[48];
  if (seconds < 0) seconds = 0;
  const auto d = static_cast<long long>(seconds / kDay);
  const int h = static_cast<int>(seconds / 3600 % 24);
  const int m = static_cast<int>(seconds / 60 % 60);
  const int s = static_cast<int>(seconds % 60);
  int n = 0;
  if (d > 0)
    n = std::snprintf(text, sizeof(text), "%lld-%02d:%02d:%02d", d, h, m, s);
  else if (h > 0)
    n = std::snprintf(text, sizeof(text), "%d:%02d:%02d", h, m, s);
  else
    n = std::snprintf(text, sizeof(text), "%d:%02d", m, s);
  out->append(text, static_cast<std::size_t>(n));
}

std::string LongDuration(std::int64_t seconds) {
  char text[48];
  if (seconds < 0) seconds = 0;
  const int h = static_cast<int>(seconds / 3600 % 24);
  const int m = static_cast<int>(seconds / 60 % 60);
  const int s = static_cast<int>(seconds % 60);
  if (seconds >= kDay) {
    std::snprintf(text, sizeof(text), "%lld-%02d:%02d:%02d", static_cast<long long>(seconds / kDay),
                  h, m, s);
  } else {
    std::snprintf(text, sizeof(text), "%02d:%02d:%02d", h, m, s);
  }
  return text;
}

// Takes only the fixed form of the API, "YYYY-MM-DDTHH:MM:SS" with a zone of at least one
// character; fractions of a second are dropped.
std::int64_t ParseStamp(std::string_view text) {
  const auto two = [&](std::size_t at) -> std::int64_t {
    return (text[at] - '0') * 10 + (text[at + 1] - '0');
  };
  if (text.size() < 20 || text[4] != '-' || text[10] != 'T') return 0;
  for (std::size_t i = 0; i < 19; ++i) {
    const bool separator = i == 4 || i == 7 || i == 10 || i == 13 || i == 16;
    if (!separator && (text[i] < '0' || text[i] > '9')) return 0;
  }
  // The days since 1970 of a date in the Gregorian calendar. Years are counted from March, so that
  // the leap day is the last day of a year; 719,468 is the number of days before 1970.
  const std::int64_t month = two(5);
  const std::int64_t year = two(0) * 100 + two(2) - (month <= 2 ? 1 : 0);
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + two(8) - 1;
  const std::int64_t days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719'468;
  return days * kDay + two(11) * 3600 + two(14) * 60 + two(17);
}

std::string FormatTime(std::int64_t epoch_s, const std::string& format) {
  const time_t when = epoch_s;
  struct tm parts {};
  // localtime_r fails for years that do not fit an int.
  if (::localtime_r(&when, &parts) == nullptr) return "N/A";
  char text[256];
  const char* plain = "%Y-%m-%dT%H:%M:%S";
  const std::size_t n = ::strftime(text, sizeof(text),
                                   format.empty() || format == "standard" ? plain
                                   : format == "relative"                 ? RelativeFormat(parts)
                                                                          : format.c_str(),
                                   &parts);
  return std::string(text, n);
}

// Tries in turn: now with an offset, names of times of today, "tomorrow", a clock time of today, a
// date with an optional clock time behind a T (or, after YYYY-MM-DD, a dash).
std::optional<std::int64_t> ParsePoint(std::string_view text, std::int64_t now) {
  if (text.size() >= 3 && SameWord(text.substr(0, 3), "now"))
    return RelativeToNow(text.substr(3), now);
  const time_t when = now;
  struct tm today {};
  ::localtime_r(&when, &today);
  const int year = today.tm_year + 1900;
  const auto at_today = [&](std::int64_t second_of_day, int days_later) {
    return LocalToEpoch(year, today.tm_mon + 1, today.tm_mday + days_later, second_of_day);
  };
  static constexpr std::pair<const char*, std::int64_t> kNames[] = {
      {"today", 0},         {"midnight", 0}, {"noon", 43200},
      {"elevenses", 39600}, {"fika", 54000}, {"teatime", 57600}};
  for (const auto& [name, seconds] : kNames) {
    if (SameWord(text, name)) return at_today(seconds, 0);
  }
  if (SameWord(text, "tomorrow")) return at_today(0, 1);
  if (const auto clock = TimeOfDay(text)) return at_today(*clock, 0);
  std::size_t split = text.find('T');
  if (split == std::string_view::npos && text.size() > 11 && text[10] == '-') split = 10;
  const auto date = ParseDate(text.substr(0, split), year);
  if (!date) return std::nullopt;
  std::int64_t seconds = 0;
  if (split != std::string_view::npos) {
    const auto clock = TimeOfDay(text.substr(split + 1));
    if (!clock) return std::nullopt;
    seconds = *clock;
  }
  return LocalToEpoch(date->year, date->month, date->day, seconds);
}

}  // namespace muster::slurm
