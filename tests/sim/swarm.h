// SwarmOptions: what one simulated world is like. Drawn from the seed, so that each world has a few
// kinds of trouble and lacks others (swarm testing): a fault that is always on hides what happens
// without it.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/random.h"

namespace muster::sim {

/// splitmix64. Equal seeds, equal numbers. One thread.
class Dice final : public Random {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() override {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  /// Uniform below `bound` (at least 1).
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  /// True in `percent` of a hundred calls.
  bool Chance(std::uint64_t percent) { return Below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// The stream of random numbers of one part of a world. Parts do not share a stream, so that a
/// change of one does not change what the others draw.
Dice DiceOf(std::uint64_t seed, const char* part);

struct SwarmOptions {
  // Members and quotas. All amounts in CPUs.
  int members = 1;
  bool two_steps = true;  // attempts are made suspended and released, as on Kubernetes
  int queues = 1;         // ClusterQueues, each with its LocalQueue
  bool cohort = false;    // the queues share unused quota
  bool strict_fifo = false;
  bool preemption = false;
  std::int64_t quota = 6, room = 7;
  std::string on_lost = "wait";  // muster.io/on-cluster-lost

  bool own_queues = false;     // members run queues of their own, which admit each job first
  int own_queues_at_once = 0;  // how many members are asked at a time; 0: all

  // Workload.
  int jobs = 12;
  bool gangs = false, arrays = false, dependencies = false;
  bool holds = false, cancels = false, requeues = false, deletes = false, time_limits = false;
  bool quota_edits = false, drains = false;
  std::int64_t arrivals_ms = 20'000;  // jobs arrive within this time
  std::int64_t longest_run_ms = 20'000;

  // Faults.
  bool kills = false, freezes = false, clock_jumps = false;
  bool store_faults = false, store_away = false, lost_answers = false, slow_store = false;
  bool lost_calls = false, slow_calls = false, double_calls = false;
  bool lost_reports = false, double_reports = false;
  bool away_members = false, wiped_members = false, disturbed_objects = false;

  // Knobs of the product.
  std::int64_t heartbeat_ms = 0, lost_after_ms = 15'000, orphan_grace_ms = 20'000;
  std::int64_t reconcile_every_ms = 30'000;
  std::size_t commit_depth = 4, cycle_heads = 256;
  bool lead_term = false;  // orders need a permit

  bool AnyFault() const;
};

SwarmOptions SwarmOf(std::uint64_t seed);
/// The same world without any fault: its time from first to last is what R33 compares with.
SwarmOptions WithoutFaults(SwarmOptions options);
/// One line: what is on.
std::string ToText(const SwarmOptions& options);

}  // namespace muster::sim
