// Random worlds for the properties of schedd/core: cohort trees, queues with limits, members and
// jobs.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "schedd/core/cycle/snapshot.h"

namespace muster::core::testing {

/// A reproducible stream of choices; RapidCheck draws and shrinks the seed and the size.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2654435769u + 1) {}
  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Uniform in [low, high].
  std::int64_t Roll(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(Next() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(int percent) { return Roll(1, 100) <= percent; }

 private:
  std::uint64_t state_;
};

struct Shape {
  int queues = 8;
  int cohorts = 6;  // at most 6 levels deep
  int jobs = 60;
  int members = 3;
  std::int64_t most = 12;  // the largest nominal quota
};

/// Configuration with flavors f0..f2, resources cpu and gpu, random limits, strategies, selectors
/// and gates.
ConfigView RandomConfig(Dice* dice, const Shape& shape);
/// Pending jobs of one to three pod sets, ids from 1.
std::vector<JobPtr> RandomJobs(Dice* dice, const Shape& shape, const ConfigView& config);
std::vector<ClusterView> RandomMembers(Dice* dice, const Shape& shape);

}  // namespace muster::core::testing
