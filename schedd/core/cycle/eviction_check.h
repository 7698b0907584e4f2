// The part of CheckPlan that looks at evictions.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// Sentences, one for each broken promise: victims hold quota, go once, are not what the same plan
/// admits, and the policies of the preemptor's queue allow it (rules A35 to A41, A48, A55).
std::vector<std::string> CheckEvictions(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
