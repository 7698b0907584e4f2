// Random small worlds for the oracle: at most 6 queues, cohorts 4 deep, 3 flavors, 2 resources and
// 12 workloads, some of which already hold quota.
#pragma once

#include <cstdint>

#include "tests/property/oracle/world.h"

namespace muster::oracle {

/// A reproducible stream of choices.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567ULL) {}
  /// Uniform in [low, high].
  int Between(int low, int high);
  bool Percent(int chance) { return Between(1, 100) <= chance; }

 private:
  std::uint64_t state_;
};

/// Equal seeds give equal worlds. Waiting workloads are in their queues. Ties that Kueue decides by
/// chance (rule A63) are avoided where possible: entries of different queues never tie, nor do
/// reservation times.
World RandomWorld(std::uint64_t seed);

/// The world as text, complete enough to rebuild it by hand.
std::string Describe(const World& world);

}  // namespace muster::oracle
