// What is known of a member cluster, as JSON: for its status and for `GET
// /v1/memberclusters/{name}/facts`. Pure functions.
#pragma once

#include <map>
#include <string>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Properties by name, as text: declared ones and those that follow from its facts.
std::map<std::string, std::string> PropertiesOf(const MemberCluster& member);
/// status.properties of a MemberCluster: name to {value, observationTime}.
json::object PropertiesJson(const MemberCluster& member);
/// status.resourceUsage of a MemberCluster: capacity, allocatable, available, observationTime.
json::object UsageJson(const core::ClusterView& cluster);
/// Everything, with the age of the facts at `now`, and `stale` when nothing was told for the
/// member's heartbeat period and thirty seconds more. Members that tell no times have no age.
json::object FactsJson(const core::ClusterView& cluster, WallTime now);

}  // namespace muster::api
