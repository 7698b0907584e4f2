// Randomness as an interface, so that equal seeds give equal runs.
#pragma once

#include <cstdint>

namespace muster {

/// Thread-safe in production; a seeded test implementation may be single-threaded.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t Next() = 0;  // uniform over 64 bits
};

}  // namespace muster
