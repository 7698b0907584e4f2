// The permissions that Muster's user needs on a member, and how to ask an API server for them.
//
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/k8s/status/kinds.h"

namespace muster::k8s {

/// One verb on one resource, in all namespaces or in `ns` alone.
struct Permission {
  std::string group, resource, subresource, verb;
  std::string ns = "";
  bool operator==(const Permission&) const = default;
};

/// What jobs of these kinds need, and what every member needs.
std::vector<Permission> PermissionsFor(const std::vector<const KindInfo*>& kinds);
/// What placements of configuration objects need beyond that, for all kinds that a placement can
/// select, and what dispatch modes need for Workloads. Never demanded: where one is missing, the
/// member's own refusal is shown.
std::vector<Permission> ConfigurationPermissions();

inline constexpr std::string_view kAccessReviews =
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// The request body for kAccessReviews.
std::string AccessReview(const Permission& permission);
/// Whether the answer grants the permission.
bool IsAllowed(std::string_view answer);

/// "create and watch of rayjobs.ray.io, get of pods/log in namespace n": by resource, in order.
std::string DescribePermissions(const std::vector<Permission>& permissions);
/// The ClusterRole that gives all of them, as YAML.
std::string ClusterRoleYaml(const std::vector<Permission>& permissions);

}  // namespace muster::k8s
