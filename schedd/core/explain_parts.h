// The parts of Explain, by what the job is doing. Only for the files of explain.
#pragma once

#include <string>

#include "schedd/core/explain.h"

namespace muster::core {

// explain_place.cc
/// Empty if the job may not be tried now.
QueuePlace PlaceInQueue(const ExplainInput& input);

// explain_pending.cc
void ExplainPending(const ExplainInput& input, Explanation* explanation);

// explain_holding.cc: it holds quota: reserved, admitted, running.
void ExplainHolding(const ExplainInput& input, Explanation* explanation);

// explain.cc
void SetVerdict(Explanation* explanation, Reason reason, std::string summary);
/// "2026-11-21T10:00:00Z (12m ago)", "... (in 3h)".
std::string TimeText(WallTime at, WallTime now);

}  // namespace muster::core
