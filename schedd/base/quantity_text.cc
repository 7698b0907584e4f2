#include "schedd/base/quantity_text.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

constexpr __int128 kBillion = 1'000'000'000;

enum class Family { kDecimal, kExponent, kBinary };

Family FamilyOf(std::string_view text) {
  if (text.ends_with('i')) return Family::kBinary;
  const std::size_t e = text.find_first_of("eE");
  // A last "E" is the suffix of 10^18.
  return e != std::string_view::npos && e + 1 < text.size() ? Family::kExponent : Family::kDecimal;
}

std::string Digits(__int128 value) {
  if (value == 0) return "0";
  const bool negative = value < 0;
  if (negative) value = -value;
  std::string digits;
  for (; value > 0; value /= 10) digits.push_back(static_cast<char>('0' + value % 10));
  if (negative) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string DecimalText(__int128 billionths, bool with_exponent) {
  static constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kUnit = 3;  // the place of ""
  if (billionths == 0) return "0";
  int place = 0;
  while (billionths % 1000 == 0 && place + 1 < static_cast<int>(std::size(kSuffixes))) {
    billionths /= 1000;
    ++place;
  }
  if (!with_exponent) return Digits(billionths) + std::string(kSuffixes[place]);
  const int exponent = (place - kUnit) * 3;
  return Digits(billionths) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

std::string BinaryText(__int128 units) {
  static constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t place = 0;
  while (units % 1024 == 0 && place + 1 < std::size(kSuffixes)) {
    units /= 1024;
    ++place;
  }
  return Digits(units) + std::string(kSuffixes[place]);
}

}  // namespace

std::optional<std::string> CanonicalText(std::string_view text) {
  const auto billionths = ParseBillionths(text);
  if (!billionths.ok()) return std::nullopt;
  const Family family = FamilyOf(text);
  const bool small = *billionths > -1024 * kBillion && *billionths < 1024 * kBillion;
  if (family == Family::kBinary && !small && *billionths % kBillion == 0)
    return BinaryText(*billionths / kBillion);
  return DecimalText(*billionths, family == Family::kExponent);
}

bool IsWholeAmount(std::string_view resource, std::string_view text) {
  if (IsMilliResource(resource)) return true;
  const auto billionths = ParseBillionths(text);
  return !billionths.ok() || *billionths % kBillion == 0;
}

}  // namespace muster
