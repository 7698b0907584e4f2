// Randomness as an interface, so that equal seeds give equal runs.
#pragma once

#include <cstdint>

namespace muster {

/// Thread-safe in production; a seeded test implementation may be single-threaded.
class Random {
 public:
  virtual ~Random() = default;
  /// Uniform over 64 bits.
  virtual std::uint64_t Next() = 0;
};

}  // namespace muster
