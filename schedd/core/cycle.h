// Decide: one cycle of admission and placement, as a pure function. Steps, in Kueue's words
// (kueue.md 2.4):
//   1. take one head of every active ClusterQueue;
//   2. nominate each on the state so far: checks of queue, namespace and configuration, then
//      flavors (flavor_assigner);
//   3. order the heads: lower borrowing level, higher priority, earlier submit time;
//   4. process in that order, re-checking what an earlier head of this round may have taken;
//   5. place those that still fit on a member cluster (placement); placed heads charge quota and
//      cluster room; misfits are parked (BestEffortFIFO) or block (StrictFIFO);
//   6. the following heads form the next round, until nothing moves, the budget is spent (looked at
//      between rounds only) or the snapshot does not show the next head of some queue.
// Each round decides exactly what one of Kueue's single-head cycles would.
#pragma once

#include <cstdint>

#include "schedd/base/time.h"
#include "schedd/core/plan.h"
#include "schedd/core/snapshot.h"

namespace muster::core {

struct CycleBudget {
  std::size_t heads = 1024;  // evaluations after which the cycle ends with more_work
};

struct CycleInput {
  Monotonic now;
  std::uint64_t seed = 0;  // for stable tie-breaks between clusters
  CycleBudget budget;
};

Plan Decide(const Snapshot& snapshot, const CycleInput& input);

/// Charges a plan to a snapshot: the optimistic world and the tests' oracle. Admitted and parked
/// workloads leave the heads.
Snapshot Apply(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
