// The preemption part of explain: which workloads hold what a job lacks, whether its queue may
// evict them, and which changes would allow that, by asking Decide. Pure.
#pragma once

#include "schedd/core/explain/explain.h"
#include "schedd/core/explain/explain_quota.h"
#include "schedd/core/explain/explain_trial.h"

namespace muster::core {

/// `plan`: the decision of Decide about the job alone.
PreemptionFinding ExplainPreemption(Trial* trial, const ClusterQueue& queue, const JobPtr& job,
                                    const NearestMiss& nearest, const Plan& plan);

/// The holders in the queue's cohort tree that hold some of these pairs, by queue.
std::vector<HolderPtr> HoldersOfPairs(const Snapshot& snapshot, NodeIndex queue,
                                      const std::vector<FlavorResourceIndex>& pairs);

}  // namespace muster::core
