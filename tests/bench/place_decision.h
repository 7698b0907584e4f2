// What it takes to choose a member cluster for one job, without daemon and database.
#pragma once

#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/figures.h"

namespace muster::bench {

/// One job after another over 100 unequal members, each with a ResourcePlacement of its own that
/// says what the guide's say: `core::Place` alone, then whole cycles. Errors: one found no member.
Result<std::vector<Figure>> MeasureDecisions();

}  // namespace muster::bench
