// The quota that a workload which needs room, but found nobody to evict, keeps from later entries
// of its cycle (rule A24).
#pragma once

#include "schedd/core/plan/assignment.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// The amounts to add to `usage` at `queue`. In mode kPreempt they are limited to what the workload
/// could ever get (rule A24); an amount is negative where the queue uses more than nominal quota
/// and borrowing limit. In any other mode they are all that the assignment adds.
Charges ResourcesToReserve(const Usage& usage, NodeIndex queue, const Assignment& assignment);

}  // namespace muster::core
