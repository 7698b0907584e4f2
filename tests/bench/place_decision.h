// Measures what it costs to choose a member cluster for one job, without daemon and database.
#pragma once

#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/figures.h"

namespace muster::bench {

/// Places one job after another on 100 unequal members. Each job has a ResourcePlacement with the
/// policy of the fleet guide. Measures `core::Place` alone and then whole cycles. Errors: a job
/// found no member.
Result<std::vector<Figure>> MeasureDecisions();

}  // namespace muster::bench
