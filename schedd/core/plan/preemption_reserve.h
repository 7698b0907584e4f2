// What a workload that waits for room, but found nobody to evict, keeps from later ones of the
// cycle (rule A24).
#pragma once

#include "schedd/core/plan/assignment.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// What to add to `usage` at `queue`; an amount may be negative where the queue uses more than its
/// borrowing limit allows. All that the assignment adds unless its mode is kPreempt.
Charges ResourcesToReserve(const Usage& usage, NodeIndex queue, const Assignment& assignment);

}  // namespace muster::core
