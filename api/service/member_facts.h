// Facts about a member cluster as JSON: for its status and for GET /v1/memberclusters/{name}/facts.
// Pure functions.
#pragma once

#include <map>
#include <string>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Properties by name, as text: the declared ones, and the node count and version that the member
/// reports.
std::map<std::string, std::string> PropertiesOf(const MemberCluster& member);
/// status.properties of a MemberCluster: name to {value, observationTime}.
json::object PropertiesJson(const MemberCluster& member);
/// status.resourceUsage of a MemberCluster: capacity, allocatable, available, observationTime.
json::object UsageJson(const core::ClusterView& cluster);
/// All facts, with their age at `now`. `stale` is true if the member has reported nothing for its
/// heartbeat period and thirty seconds more. A member without observation times has no age.
json::object FactsJson(const core::ClusterView& cluster, WallTime now);

}  // namespace muster::api
