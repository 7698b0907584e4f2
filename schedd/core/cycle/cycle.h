// Decide: one cycle of admission, preemption and placement, as a pure function. Steps, in Kueue's
// words (rules A18 to A23):
//   1. take one head of every active ClusterQueue, and the second passes that are due;
//   2. nominate each on the state so far: checks of queue, namespace and configuration, then
//      flavors, then victims where room must be made;
//   3. order the entries: borrowing level, priority, time; or the fair-sharing tournament;
//   4. process in that order, each against what the earlier ones of this round took: admit, evict
//      for it, keep room for it, or skip it;
//   5. place those that are admitted on a member cluster;
//   6. the following heads form the next round, until nothing moves, the budget is spent (looked at
//      between rounds only) or the snapshot does not show the next head of some queue.
// Each round decides exactly what one of Kueue's single-head cycles would, and sees the state that
// the previous one left. A round that would evict is always the first of its plan: what it evicts
// may be what this plan admitted, and those after it must see the evictions.
#pragma once

#include <cstdint>
#include <limits>

#include "schedd/base/time.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

struct CycleBudget {
  std::size_t heads = 1024;  // evaluations after which the cycle ends with more_work
  /// 1: exactly one of Kueue's single-head cycles, which then blocks no queue.
  std::size_t rounds = std::numeric_limits<std::size_t>::max();
};

class CycleCache;

struct CycleInput {
  Monotonic now;
  std::uint64_t seed = 0;  // for stable tie-breaks between clusters
  CycleBudget budget;
  CycleCache* cache =
      nullptr;  // of the cycle before; null: none. Changes nothing but the time taken
  bool keep_assignments = false;  // Admit and NotAdmitted tell what was looked at
};

Plan Decide(const Snapshot& snapshot, const CycleInput& input);

/// The sentence of an eviction (rule A59). Uids as text; "" reads UNKNOWN.
std::string EvictionMessage(const Eviction& eviction, const std::string& preemptor_uid,
                            const std::string& preemptor_job_uid);

/// Charges a plan to a snapshot: the optimistic world and the tests' oracle. Admitted and parked
/// workloads leave the heads; evicted ones hold what they hold.
Snapshot Apply(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
