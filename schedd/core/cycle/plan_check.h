// CheckPlan: re-derives every promise of a plan from its snapshot. It shares no code with the
// planner beyond QuotaTree, the gates and the placement policy. A violation stops the daemon.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/plan/plan.h"

namespace muster::core {

/// One sentence for each broken promise; empty: the plan is sound. Checked: each workload was a
/// head and is admitted once; every pod set is admitted whole; every requested resource has a
/// flavor of one resource group of the queue; usage is requests x count; the flavors can host the
/// pods; the plan takes no node above its quota and limits; pods that are placed on machines have
/// the room there; the member exists, is eligible, has the room and is allowed by the job's
/// placement; StrictFIFO order is kept; every victim holds quota, is evicted once, and the policies
/// allow it.
std::vector<std::string> CheckPlan(const Snapshot& snapshot, const Plan& plan);

}  // namespace muster::core
