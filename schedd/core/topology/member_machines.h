// Member machines: the trees of machines that the member clusters of a configuration make
// (rule A44). Pure.
#pragma once

#include <vector>

#include "schedd/core/topology/topology_forest.h"

namespace muster::core {

/// The forest of `members`, in name order and as they are now; a member that declares no machines
/// is one. Null if topology aware scheduling is off or no flavor of the configuration has a
/// topology.
TopologyForestPtr ForestOf(const ConfigView& config, std::vector<MemberCluster> members,
                           const AdmissionSettings& settings);

}  // namespace muster::core
