// Backoff: pauses that double up to a bound. Each is drawn from its upper half, so that many
// clients that failed together do not come back together. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schedd/base/random.h"

namespace muster::k8s {

class Backoff {
 public:
  Backoff(std::int64_t min_ms, std::int64_t max_ms) : min_ms_(min_ms), max_ms_(max_ms) {}
  /// The next pause in milliseconds.
  std::int64_t Next(Random& random) {
    ms_ = std::min(max_ms_, ms_ == 0 ? min_ms_ : ms_ * 2);
    return Jittered(ms_, random);
  }
  void Reset() { ms_ = 0; }
  /// Between half of `ms` and `ms`.
  static std::int64_t Jittered(std::int64_t ms, Random& random) {
    const auto half = static_cast<std::uint64_t>(ms / 2);
    return ms - static_cast<std::int64_t>(random.Next() % (half + 1));
  }

 private:
  const std::int64_t min_ms_, max_ms_;
  std::int64_t ms_ = 0;
};

}  // namespace muster::k8s
