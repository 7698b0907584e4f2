#include "clients/slurm/usage_text.h"

#include <cstdio>
#include <string_view>

#include "clients/slurm/slurm_time.h"

namespace muster::slurm {
namespace {

constexpr std::string_view kUnits = "KMGTP";

std::string Fraction(double number, char unit) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.2f%c", number, unit);
  return text;
}

}  // namespace

std::string CpuTimeText(std::int64_t microseconds) {
  if (microseconds < 0) microseconds = 0;
  const std::int64_t seconds = microseconds / 1'000'000;
  if (seconds >= 3600) return LongDuration(seconds);
  const auto minutes = static_cast<long long>(seconds / 60);
  char text[48];
  std::snprintf(text, sizeof(text), "%02lld:%02lld.%03lld", minutes,
                static_cast<long long>(seconds % 60),
                static_cast<long long>(microseconds / 1000 % 1000));
  // Without a fraction sacct shows the hours too.
  return microseconds % 1'000'000 == 0 ? LongDuration(seconds) : text;
}

std::string SizeText(std::int64_t bytes, char unit) {
  if (unit != 0) {
    double number = static_cast<double>(bytes);
    for (const char one : kUnits) {
      number /= 1024;
      if (one == unit) break;
    }
    return Fraction(number, unit);
  }
  if (bytes == 0) return "0";
  std::size_t at = 0;
  std::int64_t number = (bytes + 1023) / 1024;
  while (number % 1024 == 0 && at + 1 < kUnits.size()) number /= 1024, ++at;
  return std::to_string(number) + kUnits[at];
}

std::string MegabytesText(std::int64_t mb, char unit) {
  if (unit == 0) unit = mb < 1024 ? 'M' : 'G';
  if (unit == 'K') return std::to_string(mb * 1024) + "K";
  std::int64_t per_unit = 1;
  for (const char larger : {'G', 'T', 'P'}) {
    if (unit == 'M') break;
    per_unit *= 1024;
    if (unit == larger) break;
  }
  if (mb % per_unit == 0) return std::to_string(mb / per_unit) + unit;
  return Fraction(static_cast<double>(mb) / static_cast<double>(per_unit), unit);
}

std::string TransferText(std::int64_t bytes) {
  return Fraction(static_cast<double>(bytes) / (1 << 20), 'M');
}

}  // namespace muster::slurm
