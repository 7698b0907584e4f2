// Apply: a snapshot with a plan charged to it. Pure.
#pragma once

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// Charges a plan to a snapshot, for simulations, previews and tests. Admitted and parked workloads
/// leave the heads; evicted ones keep what they hold.
Snapshot Apply(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
