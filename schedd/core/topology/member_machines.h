// The trees of machines of the member clusters of a configuration (rule A44). Pure.
#pragma once

#include <vector>

#include "schedd/core/topology/topology_forest.h"

namespace muster::core {

/// The forest of `members`, in name order and with their present facts; a member that declares no
/// machines counts as one machine. Null if topology aware scheduling is off or no flavor has a
/// topology.
TopologyForestPtr ForestOf(const ConfigView& config, std::vector<MemberCluster> members,
                           const AdmissionSettings& settings);

}  // namespace muster::core
