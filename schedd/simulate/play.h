// Play: one run with its summary, and the same scenario before and after edits. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/simulate/simulator.h"
#include "schedd/simulate/summary.h"

namespace muster::simulate {

/// What a run came to.
struct PlayResult {
  RunOutcome outcome;
  Summary summary;
};

/// Runs the scenario; `sink` (may be empty) gets every decision.
PlayResult Play(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink);

/// The scenario with all edits applied in order (edits.h). The error is that of the first bad edit.
Result<Scenario> Edited(Scenario scenario, const std::vector<std::string>& edits);

}  // namespace muster::simulate
