// The canonical text of a quantity, as apimachinery's resource.Quantity writes it. The value is
// read in billionths; the text's family (decimal suffix, exponent or binary suffix) decides how it
// is written again.
#include "schedd/base/quantity_text.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

constexpr __int128 kBillion = 1'000'000'000;

enum class Family { kDecimal, kExponent, kBinary };

// The family of suffixes that the text was written in.
Family FamilyOf(std::string_view text) {
  if (text.ends_with('i')) return Family::kBinary;
  const std::size_t e = text.find_first_of("eE");
  // An "E" at the end is the suffix for 10^18, not an exponent.
  return e != std::string_view::npos && e + 1 < text.size() ? Family::kExponent : Family::kDecimal;
}

// std::to_string has no overload for __int128.
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

// Divides by 1000 as long as nothing is lost, then appends the suffix or the exponent.
std::string DecimalText(__int128 billionths, bool with_exponent) {
  static constexpr std::string_view kDecimalSuffixes[] = {"n", "u", "m", "",  "k",
                                                          "M", "G", "T", "P", "E"};
  // The index of "" in kDecimalSuffixes: whole units.
  constexpr int kUnit = 3;
  if (billionths == 0) return "0";
  int place = 0;
  while (billionths % 1000 == 0 && place + 1 < static_cast<int>(std::size(kDecimalSuffixes))) {
    billionths /= 1000;
    ++place;
  }
  if (!with_exponent) return Digits(billionths) + std::string(kDecimalSuffixes[place]);
  const int exponent = (place - kUnit) * 3;
  return Digits(billionths) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
}

// The same by 1024; `units` is a multiple of it.
std::string BinaryText(__int128 units) {
  static constexpr std::string_view kBinarySuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t place = 0;
  while (units % 1024 == 0 && place + 1 < std::size(kBinarySuffixes)) {
    units /= 1024;
    ++place;
  }
  return Digits(units) + std::string(kBinarySuffixes[place]);
}

}  // namespace

// A binary text below 1024 or with a fraction is written with a decimal suffix, as Kubernetes does.
// So is one that no binary suffix fits: an API server answers it first without a suffix, and with a
// decimal one when it has read that again; this text is its own canonical text.
std::optional<std::string> CanonicalText(std::string_view text) {
  const auto billionths = ParseBillionths(text);
  if (!billionths.ok()) return std::nullopt;
  const Family family = FamilyOf(text);
  const bool small = *billionths > -1024 * kBillion && *billionths < 1024 * kBillion;
  if (family == Family::kBinary && !small && *billionths % (1024 * kBillion) == 0)
    return BinaryText(*billionths / kBillion);
  return DecimalText(*billionths, family == Family::kExponent);
}

bool IsWholeAmount(std::string_view resource, std::string_view text) {
  if (IsMilliResource(resource)) return true;
  const auto billionths = ParseBillionths(text);
  return !billionths.ok() || *billionths % kBillion == 0;
}

}  // namespace muster
