// Points in time. Monotonic orders and bounds; WallTime is only stamped and shown (design 9).
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace muster {

/// Nanoseconds of a clock that never goes back; its zero means nothing.
struct Monotonic {
  std::int64_t ns = 0;
  auto operator<=>(const Monotonic&) const = default;
  Monotonic operator+(std::int64_t more_ns) const { return {ns + more_ns}; }
  std::int64_t operator-(Monotonic other) const { return ns - other.ns; }
};

inline constexpr std::int64_t kNanosPerMilli = 1'000'000;
inline constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
inline constexpr std::int64_t kMicrosPerSecond = 1'000'000;

/// Microseconds since 1970-01-01T00:00:00Z; 0 means "not set".
struct WallTime {
  std::int64_t us = 0;
  auto operator<=>(const WallTime&) const = default;
  bool set() const { return us != 0; }
};

/// "2026-11-21T10:00:00Z" (second resolution, as Kubernetes writes it); "" if not set.
std::string FormatRfc3339(WallTime time);
/// The same with microseconds: "2026-11-21T10:00:00.123456Z".
std::string FormatRfc3339Micros(WallTime time);
/// Parses RFC 3339 with an optional fraction and an offset of Z or +-hh:mm; false if malformed.
bool ParseRfc3339(const std::string& text, WallTime* out);

}  // namespace muster
