// Compiles a workload's pod sets into the steps of its flavor search (rule A27): which pod sets are
// decided together, which resource groups are scanned in which order, and what can be decided about
// each flavor without a usage. Internal to FlavorPlan.
#pragma once

#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/flavor/flavor_steps.h"

namespace muster::core {

class QueueTopology;

/// The batches of `demand` in `queue`. All arguments must outlive the result.
std::vector<FlavorBatch> CompileBatches(const ConfigView& config, const AdmissionSettings& settings,
                                        const QuotaTree& tree, const ClusterQueue& queue,
                                        const JobRecord& job, const Demand& demand,
                                        const QueueTopology& topology);

/// True if some resource group of the queue covers `resource`.
bool Covers(const ClusterQueue& queue, std::string_view resource);

}  // namespace muster::core
