// The parts of Explain, by what the job is doing. Only for the files of explain.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"

namespace muster::core {

// explain_place.cc
/// Empty if the job may not be tried now.
QueuePlace PlaceInQueue(const ExplainInput& input);

// explain_pending.cc
void ExplainPending(const ExplainInput& input, Explanation* explanation);

// explain_holding.cc: it holds quota: reserved, admitted, running.
void ExplainHolding(const ExplainInput& input, Explanation* explanation);

// explain_place.cc
/// What governs where it runs, and what it asks for itself.
void SayPlacement(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation);
/// How the members compare for it with these flavors.
std::vector<ClusterVerdict> CompareMembers(const Snapshot& snapshot, const JobRecord& job,
                                           const Admission* admission);

// explain.cc
void SetVerdict(Explanation* explanation, Reason reason, std::string summary);
/// "2026-11-21T10:00:00Z (12m ago)", "... (in 3h)".
std::string TimeText(WallTime at, WallTime now);

}  // namespace muster::core
