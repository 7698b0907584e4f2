// Identifiers as types of their own, so that one cannot be passed for another. Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "schedd/base/random.h"

namespace muster {

/// The number of a job that users see; given once, never reused. 0 means no job.
struct JobId {
  std::int64_t value = 0;
  auto operator<=>(const JobId&) const = default;
};

/// The number of a leadership: each new leader takes the next one, and each write names it, so that
/// the database refuses writes of a former leader.
struct Epoch {
  std::int64_t value = 0;
  auto operator<=>(const Epoch&) const = default;
};

/// A 128-bit identifier, shown as a version-4 UUID.
struct Uid {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  auto operator<=>(const Uid&) const = default;
  bool set() const { return (hi | lo) != 0; }
  /// A fresh version-4 UUID from `random`.
  static Uid Make(Random& random);
  /// Parses 8-4-4-4-12 hexadecimal; false if malformed.
  static bool Parse(std::string_view text, Uid* out);
  std::string ToString() const;
};

}  // namespace muster

template <>
struct std::hash<muster::JobId> {
  std::size_t operator()(muster::JobId id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
template <>
struct std::hash<muster::Uid> {
  std::size_t operator()(const muster::Uid& id) const noexcept {
    return id.hi ^ (id.lo * 0x9e3779b97f4a7c15ULL);
  }
};
