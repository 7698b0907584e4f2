// Points in time. Monotonic is for order and deadlines; WallTime is only stamped and shown.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "schedd/base/saturating.h"

namespace muster {

/// Nanoseconds of a clock that never goes back; its zero means nothing. Sums and differences stop
/// at the ends of the range.
struct Monotonic {
  std::int64_t ns = 0;
  auto operator<=>(const Monotonic&) const = default;
  Monotonic operator+(std::int64_t more_ns) const { return {SaturatingAdd(ns, more_ns)}; }
  std::int64_t operator-(Monotonic other) const { return SaturatingSub(ns, other.ns); }
};

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;
inline constexpr std::int64_t kMicrosPerMilli = 1000;

// Spans of time in manifests, members' reports and flags may be of any size: each of these
// functions stops at the ends of int64. Spans are converted by these functions alone.
constexpr std::int64_t SecondsToMillis(std::int64_t s) { return SaturatingMul(s, 1000); }
constexpr std::int64_t SecondsToMicros(std::int64_t s) {
  return SaturatingMul(s, kMicrosPerSecond);
}
constexpr std::int64_t SecondsToNanos(std::int64_t s) { return SaturatingMul(s, kNanosPerSecond); }
constexpr std::int64_t MillisToMicros(std::int64_t ms) { return SaturatingMul(ms, 1000); }
constexpr std::int64_t MillisToNanos(std::int64_t ms) { return SaturatingMul(ms, kNanosPerMilli); }
constexpr std::int64_t MicrosToNanos(std::int64_t us) { return SaturatingMul(us, 1000); }

/// Microseconds since 1970-01-01T00:00:00Z; 0 means "not set".
struct WallTime {
  std::int64_t us = 0;
  auto operator<=>(const WallTime&) const = default;
  bool set() const { return us != 0; }
  /// This time plus a span in microseconds; it stops at the ends of the range, of which no clock
  /// ever reaches the later one.
  constexpr WallTime Plus(std::int64_t span_us) const { return {SaturatingAdd(us, span_us)}; }
  constexpr WallTime PlusSeconds(std::int64_t seconds) const {
    return Plus(SecondsToMicros(seconds));
  }
};

/// "2026-11-21T10:00:00Z" (second resolution, as Kubernetes writes it); "" if not set.
std::string FormatRfc3339(WallTime time);
/// The same with microseconds: "2026-11-21T10:00:00.123456Z".
std::string FormatRfc3339Micros(WallTime time);
/// Parses RFC 3339 with an optional fraction and an offset of Z or +-hh:mm; false if malformed.
bool ParseRfc3339(const std::string& text, WallTime* out);

}  // namespace muster
