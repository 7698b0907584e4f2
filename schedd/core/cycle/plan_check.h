// CheckPlan: re-derives every promise of a plan from its snapshot, sharing no code path with the
// planner beyond QuotaTree and the gates. A violation is a CHECK in the engine, not a log line.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// Sentences, one for each broken promise; empty means sound. Checked: each workload admitted once
/// and was a head; gang (every pod set whole); every requested resource has a flavor of one
/// resource group of the queue; usage = requests x count; flavors eligible; no quota or limit of
/// any node exceeded by the plan; all pods that are placed on machines stand where there is room;
/// cluster exists, is eligible, has the room and is one that the job's placement lets it have;
/// StrictFIFO order kept; every victim holds quota, is evicted once and may be by its queue's
/// policies.
std::vector<std::string> CheckPlan(const Snapshot& snapshot, const Plan& plan);

/// Recomputes usage from `admitted` and compares with `usage`; sentences for each difference.
std::vector<std::string> UsageDifferences(const Usage& usage, const std::vector<JobPtr>& admitted);

}  // namespace muster::core
