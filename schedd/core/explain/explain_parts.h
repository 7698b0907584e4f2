// The parts of Explain, by the state of the job, with the source file of each. Only for the files
// of explain.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"

namespace muster::core {

/// In explain_place.cc. Empty if the job may not be tried now.
QueuePlace PlaceInQueue(const ExplainInput& input);

/// In explain_pending.cc: a job that waits.
void ExplainPending(const ExplainInput& input, Explanation* explanation);

/// In explain_holding.cc: a job that holds quota: reserved, admitted, running.
void ExplainHolding(const ExplainInput& input, Explanation* explanation);

/// In explain_place.cc. Adds facts: the placement that governs the job, and what the job asks of
/// members itself.
void SayPlacement(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation);
/// In explain_place.cc. The members compared for the job with the flavors of `admission`.
std::vector<ClusterVerdict> CompareMembers(const Snapshot& snapshot, const JobRecord& job,
                                           const Admission* admission);

/// In explain.cc.
void SetVerdict(Explanation* explanation, Reason reason, std::string summary);
/// In explain.cc: "2026-11-21T10:00:00Z (12m ago)", "... (in 3h)".
std::string TimeText(WallTime at, WallTime now);

}  // namespace muster::core
