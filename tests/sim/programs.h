// The programs of muster-sim. Each returns its exit code and prints its figures last.
#pragma once

#include <cstdint>
#include <string>

namespace muster::sim {

/// `count` seeds from `first`, in `jobs` processes.
struct Range {
  std::uint64_t first = 1, count = 2000, jobs = 2;
};

/// Every seed; every 100th twice, every 10th also without faults.
int Swarm(const Range& range);
/// Every seed within a theme (themes.h).
int Themed(const Range& range, const std::string& id);
/// The trace of one seed, of a theme if its id is not ""; `until_ms` not 0: the world stops then,
/// and its jobs are shown.
int Replay(std::uint64_t seed, const std::string& theme, const std::string& bug,
           std::uint64_t until_ms);
/// Each planted bug, or the one named: the first seed that catches it.
int Planted(const Range& range, const std::string& bug);
/// One line for each seed: the hash of its trace, without fault points in the product's code.
int Hashes(const Range& range);
int Names();

}  // namespace muster::sim
