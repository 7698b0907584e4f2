// Formats times and uids into a buffer of fixed layout, without the C library's time functions and
// without allocation: a list of 100,000 jobs has half a million times. Times are UTC and may be
// before 1970; years have four digits.
#include "api/service/json_append.h"

#include <cstring>

namespace muster::api {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// Writes `value` in `width` decimal digits with leading zeros.
void PutDigits(std::int64_t value, int width, char* at) {
  for (int i = width - 1; i >= 0; --i) {
    at[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

struct CivilDate {
  std::int64_t year, month, day;
};

// Days since 1970-01-01 as a proleptic Gregorian date. Years are counted from March, so that the
// leap day is the last day of a year, in eras of 400 years (146,097 days).
CivilDate DateOfDays(std::int64_t days) {
  const std::int64_t shifted = days + 719'468;  // days since 0000-03-01
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t march_month = (5 * day_of_year + 2) / 153;
  const std::int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month,
          day_of_year - (153 * march_month + 2) / 5 + 1};
}

// The time in quotes, with or without microseconds.
void AppendTime(WallTime time, bool with_micros, std::string* out) {
  std::int64_t seconds = time.us / kMicrosPerSecond;
  // Before 1970 the remainders are negative: a unit is borrowed from the next larger part.
  std::int64_t micros = time.us % kMicrosPerSecond;
  if (micros < 0) {
    micros += kMicrosPerSecond;
    --seconds;
  }
  std::int64_t days = seconds / 86'400;
  std::int64_t rest = seconds % 86'400;
  if (rest < 0) {
    rest += 86'400;
    --days;
  }
  const CivilDate date = DateOfDays(days);
  char text[] = "\"0000-00-00T00:00:00.000000Z\"";
  PutDigits(date.year, 4, text + 1);
  PutDigits(date.month, 2, text + 6);
  PutDigits(date.day, 2, text + 9);
  PutDigits(rest / 3'600, 2, text + 12);
  PutDigits(rest / 60 % 60, 2, text + 15);
  PutDigits(rest % 60, 2, text + 18);
  if (!with_micros) {
    out->append(text, 20);
    out->append("Z\"");
    return;
  }
  PutDigits(micros, 6, text + 21);
  out->append(text, sizeof text - 1);
}

}  // namespace

void AppendJsonTime(WallTime time, std::string* out) {
  if (time.set()) {
    AppendTime(time, true, out);
  } else {
    out->append("null");
  }
}

void AppendJsonSeconds(WallTime time, std::string* out) {
  if (time.set()) {
    AppendTime(time, false, out);
  } else {
    out->append("\"\"");
  }
}

void AppendJsonUid(const Uid& uid, std::string* out) {
  // 32 digits, four hyphens and two quotes.
  char text[38];
  char* at = text;
  *at++ = '"';
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) *at++ = '-';
    const std::uint64_t half = digit < 16 ? uid.hi : uid.lo;
    *at++ = kHex[(half >> (60 - 4 * (digit % 16))) & 15];
  }
  *at = '"';
  out->append(text, sizeof text);
}

}  // namespace muster::api
