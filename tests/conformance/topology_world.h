// The machines of a case: one member cluster without a name that has every node.
#pragma once

#include "schedd/core/topology/topology_usage.h"
#include "tests/conformance/world.h"

namespace muster::conformance {

/// The trees of all topology aware flavors of the case.
core::TopologyForestPtr ForestOf(const World& world);

/// What the reservations of the case take of machines.
core::TopologyUsage TopologyUsageOf(const World& world, const core::TopologyForestPtr& forest);

/// Adds pods that stand on machines without a reservation: {flavor: [{values, count,
/// singlePodRequests}]}. Nothing for null.
void ChargeTopologyUsage(const json::value& by_flavor, core::TopologyUsage* usage);

/// {levels, domains: [{values, count}]}; null for null.
json::value AssignmentJson(const TopologyAssignment* assignment);
/// The same read back; the API's compact form is read too.
TopologyAssignmentPtr AssignmentOf(const json::value& object);

}  // namespace muster::conformance
