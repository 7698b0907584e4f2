// Decide: one cycle of admission, preemption and placement, as a pure function. The steps of a
// round, in Kueue's words (rules A18 to A23):
//
//   1. Take one head of every active ClusterQueue, and all second passes that are due.
//   2. Nominate each on the state at the start: gates, then flavors, then victims if it needs room.
//   3. Order the entries: borrowing level, priority, time; or the tournament of fair sharing.
//   4. Process them in that order, each against what the earlier entries of this round took: admit
//      it, evict for it, keep room for it, or skip it.
//   5. Place each admitted workload on a member cluster.
//
// The next heads form the next round, until nothing changes, the budget is spent (checked between
// rounds only) or the snapshot does not show the next head of some queue. Each round decides
// exactly what one of Kueue's single-head cycles would, on the state that the previous round left.
// A round that evicts is the first round of its plan, and the last: no plan evicts a workload that
// it admits, and no entry is decided without seeing earlier evictions.
#pragma once

#include <cstdint>
#include <limits>

#include "schedd/base/time.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// The limits of one plan.
struct CycleBudget {
  std::size_t heads = 1024;  // nominations after which the plan ends with more_work
  /// 1: the plan is exactly one of Kueue's single-head cycles, and it blocks no queue.
  std::size_t rounds = std::numeric_limits<std::size_t>::max();
};

class CycleCache;

/// The inputs of Decide beside the snapshot.
struct CycleInput {
  Monotonic now;
  std::uint64_t seed = 0;  // for stable tie-breaks between clusters
  CycleBudget budget;
  /// The cache of the cycle before; null: none. It changes how long Decide takes, not the plan.
  CycleCache* cache = nullptr;
  bool keep_assignments = false;  // sets `assignment` of admits and not_admitted
};

/// The decisions on one snapshot.
Plan Decide(const Snapshot& snapshot, const CycleInput& input);

/// The sentence of an eviction (rule A59). Uids as text; "" reads UNKNOWN.
std::string EvictionMessage(const Eviction& eviction, const std::string& preemptor_uid,
                            const std::string& preemptor_job_uid);

}  // namespace muster::core
