// A text is a date, a time of day, both joined by T or a dash, `now` with an offset, or one of the
// words for times of a day.
#include "schedd/shapes/batch/batch_times.h"

#include <string>
#include <vector>

#include "schedd/shapes/batch/sbatch_values.h"

namespace muster::shapes {
namespace {

constexpr std::int64_t kDayS = 86'400;

// Days since 1970 of a date in the Gregorian calendar; years are counted from March.
std::int64_t DaysOf(std::int64_t year, std::int64_t month, std::int64_t day) {
  if (month <= 2) --year;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719'468;
}

std::vector<std::string_view> Parts(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// "now+5", "now+2hours": seconds after now.
std::optional<std::int64_t> OffsetOf(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != '+') return std::nullopt;
  text.remove_prefix(1);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = WholeNumber(text.substr(0, digits));
  if (!number || *number > 1'000'000'000) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  static constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"", 1},        {"second", 1},   {"seconds", 1}, {"minute", 60},  {"minutes", 60},
      {"hour", 3600}, {"hours", 3600}, {"day", kDayS}, {"days", kDayS}, {"week", 7 * kDayS},
      {"weeks", 7 * kDayS}};
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return *number * seconds;
  }
  return std::nullopt;
}

// "HH:MM[:SS]", with AM or PM behind it, or a word for a time of day; in seconds.
std::optional<std::int64_t> SecondOfDay(std::string_view text) {
  static constexpr std::pair<std::string_view, std::int64_t> kWords[] = {
      {"midnight", 0}, {"noon", 43'200}, {"elevenses", 39'600}, {"fika", 54'000},
      {"teatime", 57'600}};
  for (const auto& [word, seconds] : kWords) {
    if (text == word) return seconds;
  }
  std::int64_t shift = 0;
  bool half_day = false;
  if (text.size() > 2 && (text.ends_with("PM") || text.ends_with("pm") || text.ends_with("AM") ||
                          text.ends_with("am"))) {
    half_day = true;
    shift = text[text.size() - 2] == 'P' || text[text.size() - 2] == 'p' ? 12 : 0;
    text.remove_suffix(2);
  }
  const auto parts = Parts(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::int64_t values[3] = {0, 0, 0};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = WholeNumber(parts[i]);
    if (!number || parts[i].size() > 2) return std::nullopt;
    values[i] = *number;
  }
  if (half_day) values[0] = values[0] % 12 + shift;
  if (values[0] > 23 || values[1] > 59 || values[2] > 59) return std::nullopt;
  return values[0] * 3600 + values[1] * 60 + values[2];
}

// "2026-12-24", "12/24[/26]", "122426", "1224"; in days since 1970.
std::optional<std::int64_t> DayOf(std::string_view text, std::int64_t today) {
  // A date without a year is of this one; the year of a day is the last one that began before it.
  std::int64_t year = 1970 + today / 366;
  while (DaysOf(year + 1, 1, 1) <= today) ++year;
  std::int64_t month = 0, day = 0;
  const auto number = [](std::string_view part, std::int64_t* out) {
    const auto value = WholeNumber(part);
    if (value) *out = *value;
    return value.has_value();
  };
  const auto dashes = Parts(text, '-'), slashes = Parts(text, '/');
  bool ok = false;
  if (dashes.size() == 3) {
    ok = number(dashes[0], &year) && number(dashes[1], &month) && number(dashes[2], &day);
  } else if (slashes.size() == 2 || slashes.size() == 3) {
    ok = number(slashes[0], &month) && number(slashes[1], &day) &&
         (slashes.size() == 2 || number(slashes[2], &year));
  } else if (text.size() == 4 || text.size() == 6) {
    ok = number(text.substr(0, 2), &month) && number(text.substr(2, 2), &day) &&
         (text.size() == 4 || number(text.substr(4, 2), &year));
  }
  if (ok && year < 100) year += 2000;
  if (!ok || month < 1 || month > 12 || day < 1 || day > 31 || year < 1970 || year > 9999)
    return std::nullopt;
  return DaysOf(year, month, day);
}

}  // namespace

std::optional<WallTime> ParseSlurmPoint(std::string_view text, WallTime now) {
  WallTime exact;
  if (ParseRfc3339(std::string(text), &exact)) return exact;
  const std::int64_t now_s = now.us / kMicrosPerSecond;
  const std::int64_t today = now_s / kDayS;
  const auto at = [](std::int64_t seconds) {
    return std::optional<WallTime>(WallTime{SecondsToMicros(seconds)});
  };
  if (text.starts_with("now")) {
    const auto offset = OffsetOf(text.substr(3));
    return offset ? at(now_s + *offset) : std::nullopt;
  }
  if (text == "today") return at(today * kDayS);
  if (text == "tomorrow") return at((today + 1) * kDayS);
  if (const auto second = SecondOfDay(text)) {
    const std::int64_t point = today * kDayS + *second;
    return at(point < now_s ? point + kDayS : point);
  }
  std::size_t split = text.find('T');
  if (split == std::string_view::npos && text.find('-') != text.rfind('-') && text.size() > 11 &&
      text[10] == '-')
    split = 10;
  if (split == std::string_view::npos && text.find('/') != std::string_view::npos)
    split = text.find('-');
  const auto day = DayOf(text.substr(0, split), today);
  if (!day) return std::nullopt;
  if (split == std::string_view::npos) return at(*day * kDayS);
  const auto second = SecondOfDay(text.substr(split + 1));
  return second ? at(*day * kDayS + *second) : std::nullopt;
}

}  // namespace muster::shapes
