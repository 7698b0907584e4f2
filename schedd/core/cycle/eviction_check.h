// The part of CheckPlan that checks evictions.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// One sentence for each broken promise: each victim holds quota, is evicted once, is not admitted
/// by the same plan, and the policies of the preemptor's queue allow it (rules A35 to A41, A48,
/// A57).
std::vector<std::string> CheckEvictions(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
