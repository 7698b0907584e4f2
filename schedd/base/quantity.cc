// Kubernetes quantities. A text is read into a decimal (digits and a power of ten) times a binary
// factor; Scale turns both into an integer of the wanted unit, rounds up, and reports when the
// result is out of range. All arithmetic is in 128 bits, with bounds checked before each step, so
// no text can overflow it.
#include "schedd/base/quantity.h"

#include <cctype>
#include <cstdlib>

namespace muster {
namespace {

struct Suffix {
  std::string_view text;
  bool binary;
  int power;  // of 1024 if binary, of 10 otherwise
};

// The suffixes of apimachinery's resource.Quantity.
constexpr Suffix kSuffixes[] = {
    {"", false, 0},   {"n", false, -9}, {"u", false, -6}, {"m", false, -3},
    {"k", false, 3},  {"M", false, 6},  {"G", false, 9},  {"T", false, 12},
    {"P", false, 15}, {"E", false, 18}, {"Ki", true, 1},  {"Mi", true, 2},
    {"Gi", true, 3},  {"Ti", true, 4},  {"Pi", true, 5},  {"Ei", true, 6},
};

struct Decimal {
  __int128 digits = 0;
  // The value is digits * 10^exponent.
  int exponent = 0;
};

// Beyond 2^100 a further digit changes no 64-bit result; 27 bits are left for the next step.
constexpr __int128 kDigitsMax = (static_cast<__int128>(1) << 100);

// Reads digits and at most one decimal point from *at on. False if there is no digit.
bool ReadDigits(std::string_view text, std::size_t* at, Decimal* number) {
  bool any = false;
  bool point = false;
  for (; *at < text.size(); ++*at) {
    const char c = text[*at];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    // The number is beyond any amount already: a further digit only counts as a power of ten.
    if (number->digits > kDigitsMax) {
      if (!point) ++number->exponent;
      continue;
    }
    number->digits = number->digits * 10 + (c - '0');
    if (point) --number->exponent;
  }
  return any;
}

// Reads "e3", "E-2" and the like; false if `rest` is anything else, such as the suffix "E" or "Ei".
bool ReadExponent(std::string_view rest, int* exponent) {
  if (rest.size() < 2 || (rest[0] != 'e' && rest[0] != 'E')) return false;
  std::size_t at = 1;
  const bool negative = rest[at] == '-';
  if (rest[at] == '-' || rest[at] == '+') ++at;
  if (at >= rest.size() || rest.size() - at > 3) return false;
  int value = 0;
  for (; at < rest.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(rest[at]))) return false;
    value = value * 10 + (rest[at] - '0');
  }
  *exponent = negative ? -value : value;
  return true;
}

// *out = digits * 10^exponent * factor, rounded up. False if that is more than `most`.
bool Scale(Decimal number, __int128 factor, __int128 most, __int128* out) {
  __int128 value = number.digits;
  if (value == 0) {
    *out = 0;
    return true;
  }
  // The product below must stay within 128 bits.
  if (value > kDigitsMax / factor * 10) return false;
  value *= factor;
  for (; number.exponent > 0; --number.exponent) {
    if (value > most) return false;
    value *= 10;
  }
  // Dividing step by step loses nothing but the fact that there was a remainder.
  bool remainder = false;
  for (; number.exponent < 0 && value > 0; ++number.exponent) {
    remainder = remainder || value % 10 != 0;
    value /= 10;
  }
  if (remainder) ++value;
  if (value > most) return false;
  *out = value;
  return true;
}

// A quantity without its sign: decimal * binary. `binary` is a power of 1024, or 1.
struct Number {
  Decimal decimal;
  __int128 binary = 1;
};

// A quantity without its sign, by the grammar of resource.Quantity; at most 64 characters.
Result<Number> ReadNumber(std::string_view text) {
  const auto malformed = [&] {
    return InvalidArgument("\"" + std::string(text.substr(0, 64)) + "\" is not a quantity");
  };
  if (text.empty() || text.size() > 64) return malformed();
  std::size_t at = text[0] == '+' ? 1 : 0;
  Number number;
  if (!ReadDigits(text, &at, &number.decimal)) return malformed();
  const std::string_view rest = text.substr(at);
  int exponent = 0;
  if (ReadExponent(rest, &exponent)) {
    number.decimal.exponent += exponent;
    return number;
  }
  const Suffix* found = nullptr;
  for (const auto& suffix : kSuffixes) {
    if (suffix.text == rest) found = &suffix;
  }
  if (found == nullptr) return malformed();
  if (found->binary) {
    for (int i = 0; i < found->power; ++i) number.binary *= 1024;
  } else {
    number.decimal.exponent += found->power;
  }
  return number;
}

// A number of bytes with the largest binary suffix that loses nothing.
std::string FormatPlain(std::int64_t amount) {
  constexpr std::string_view kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  int power = 0;
  std::int64_t value = amount;
  while (value != 0 && value % 1024 == 0 && power < 6) {
    value /= 1024;
    ++power;
  }
  return std::to_string(value) + std::string(kBinary[power]);
}

}  // namespace

// kUnlimited itself is no amount: a text of that value is beyond 64 bits.
Result<std::int64_t> ParseQuantity(std::string_view resource, std::string_view text) {
  if (text.starts_with('-'))
    return InvalidArgument("must not be negative, got \"" + std::string(text.substr(0, 64)) + "\"");
  auto number = ReadNumber(text);
  if (!number.ok()) return number.error();
  const __int128 factor = IsMilliResource(resource) ? 1000 : 1;
  __int128 amount = 0;
  if (!Scale(number->decimal, number->binary * factor, kUnlimited - 1, &amount)) {
    return InvalidArgument("\"" + std::string(text) + "\" is beyond 64 bits");
  }
  return static_cast<std::int64_t>(amount);
}

std::optional<std::int64_t> NearestQuantity(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (!ReadNumber(negative ? text.substr(1) : text).ok()) return std::nullopt;
  return negative ? 0 : kUnlimited;
}

// The exponent is at most about a thousand, so a loop computes the power; beyond a double it is
// infinite.
Result<double> ParseReal(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto number = ReadNumber(negative ? text.substr(1) : text);
  if (!number.ok()) return number.error();
  double value = static_cast<double>(number->decimal.digits) * static_cast<double>(number->binary);
  // Powers of ten up to 10^22 are exact in a double.
  double power = 1;
  for (int i = std::abs(number->decimal.exponent); i > 0; --i) power *= 10;
  value = number->decimal.exponent < 0 ? value / power : value * power;
  return negative ? -value : value;
}

// Bounded to amounts that fit in 64 bits, so that sums of billionths stay within 128 bits.
Result<__int128> ParseBillionths(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto number = ReadNumber(negative ? text.substr(1) : text);
  if (!number.ok()) return number.error();
  constexpr __int128 kMost = static_cast<__int128>(kUnlimited) * 1'000'000'000;
  Decimal decimal = number->decimal;
  decimal.exponent += 9;
  __int128 amount = 0;
  if (!Scale(decimal, number->binary, kMost, &amount))
    return InvalidArgument("\"" + std::string(text) + "\" is beyond 64 bits");
  return negative ? -amount : amount;
}

std::string FormatQuantity(std::string_view resource, std::int64_t amount) {
  if (amount == kUnlimited) return "unlimited";
  if (IsMilliResource(resource)) {
    if (amount % 1000 == 0) return std::to_string(amount / 1000);
    return std::to_string(amount) + "m";
  }
  if (resource == "memory" || resource == "ephemeral-storage" ||
      resource.starts_with("hugepages-")) {
    return FormatPlain(amount);
  }
  return std::to_string(amount);
}

std::string CanonicalQuantity(std::string_view resource, std::int64_t amount) {
  // Kueue clamps a request beyond 64 bits to the largest 64-bit number and prints that number.
  if (amount == kUnlimited)
    return std::to_string(kUnlimited) + (IsMilliResource(resource) ? "m" : "");
  std::string text = FormatQuantity(resource, amount);
  constexpr std::string_view kDecimal = "kMGTPE";
  std::size_t thousands = 0;
  while (thousands < kDecimal.size() && text.size() > 3 && text.ends_with("000")) {
    text.resize(text.size() - 3);
    ++thousands;
  }
  if (thousands > 0) text += kDecimal[thousands - 1];
  return text;
}

}  // namespace muster
