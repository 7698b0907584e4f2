// 64-bit arithmetic that stops at the ends of the range instead of wrapping around: amounts and
// times in manifests, flags and members' reports may be of any size.
//
// INT64_MAX means "without end": it stays so whatever is added to it or subtracted from it.
#pragma once

#include <cstdint>
#include <limits>

namespace muster {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// a + b, clamped to the ends of int64; kUnlimited + x = kUnlimited.
constexpr std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  if (a == kUnlimited || b == kUnlimited) return kUnlimited;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kUnlimited : std::numeric_limits<std::int64_t>::min();
}
/// a - b, clamped; kUnlimited - x = kUnlimited.
constexpr std::int64_t SaturatingSub(std::int64_t a, std::int64_t b) {
  if (a == kUnlimited) return kUnlimited;
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a > 0 ? kUnlimited : std::numeric_limits<std::int64_t>::min();
}
/// a * b, clamped.
constexpr std::int64_t SaturatingMul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? kUnlimited : std::numeric_limits<std::int64_t>::min();
}

}  // namespace muster
