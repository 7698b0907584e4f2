#include "schedd/shapes/parts/slurm_amounts.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "schedd/base/saturating.h"

namespace muster::shapes {
namespace {

std::vector<std::string_view> ColonParts(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    text.remove_prefix(colon + 1);
  }
}

// "hours:minutes:seconds", "minutes:seconds" or "minutes"; after a number of days the first part is
// hours (sbatch(1), --time).
std::optional<std::int64_t> ClockOf(const std::vector<std::string_view>& parts, bool hours_first) {
  std::int64_t values[3] = {0, 0, 0};
  if (parts.empty() || parts.size() > 3) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = WholeNumber(parts[i]);
    if (!number || *number > 100'000'000) return std::nullopt;
    values[i] = *number;
  }
  if (hours_first || parts.size() == 3) return values[0] * 3600 + values[1] * 60 + values[2];
  return values[0] * 60 + values[1];
}

}  // namespace

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  std::int64_t number = 0;
  if (text.empty() || text.size() > 12 ||
      text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The words for "no limit" are compared without regard to case.
std::optional<std::int64_t> ParseSlurmTime(std::string_view text) {
  std::string upper(text.substr(0, 16));
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (upper == "UNLIMITED" || upper == "INFINITE" || upper == "-1") return 0;
  std::int64_t seconds = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = WholeNumber(text.substr(0, dash));
    if (!days || *days > 1'000'000) return std::nullopt;
    seconds = *days * 86'400;
    text.remove_prefix(dash + 1);
  }
  const auto rest = ClockOf(ColonParts(text), dash != std::string_view::npos);
  if (!rest) return std::nullopt;
  seconds += *rest;
  return (seconds + 59) / 60 * 60;
}

// The units are powers of 1024, with or without a trailing B or i.
std::optional<std::int64_t> ParseSlurmMemory(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = WholeNumber(text.substr(0, digits));
  if (!number) return std::nullopt;
  std::string suffix(text.substr(digits));
  for (char& c : suffix) c = c >= 'a' && c <= 'z' && c != 'i' ? static_cast<char>(c - 32) : c;
  if (suffix.size() == 2 && (suffix[1] == 'B' || suffix[1] == 'i')) suffix.pop_back();
  int power = 2;  // Slurm's default unit is the megabyte
  if (suffix == "K")
    power = 1;
  else if (suffix == "G")
    power = 3;
  else if (suffix == "T")
    power = 4;
  else if (suffix != "M" && !suffix.empty())
    return std::nullopt;
  std::int64_t bytes = *number;
  for (; power > 0; --power) bytes = SaturatingMul(bytes, 1024);
  if (bytes == kUnlimited) return std::nullopt;
  return bytes;
}

}  // namespace muster::shapes
