// What Muster's user needs to be allowed on a member (README.md, "Permissions"), and how an API
// server is asked for it.
//
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/k8s/status/kinds.h"

namespace muster::k8s {

/// One verb on one resource, in all namespaces.
struct Permission {
  std::string group, resource, subresource, verb;
  bool operator==(const Permission&) const = default;
};

/// All that is needed where these kinds are installed, in the order of README.md.
std::vector<Permission> PermissionsFor(const std::vector<const KindInfo*>& kinds);
/// What is needed beside that for placements of configuration objects: of all kinds that a
/// placement can select, and for dispatch modes of Workloads. Never demanded; where it is lacking
/// the member's own refusal is shown.
std::vector<Permission> ConfigurationPermissions();

inline constexpr std::string_view kAccessReviews =
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// The body of a question to kAccessReviews.
std::string AccessReview(const Permission& permission);
/// Whether the answer to it says yes.
bool IsAllowed(std::string_view answer);

/// "create and watch of rayjobs.ray.io, get of pods/log": by resource, in order.
std::string DescribePermissions(const std::vector<Permission>& permissions);
/// The ClusterRole that gives all of them, as YAML.
std::string ClusterRoleYaml(const std::vector<Permission>& permissions);

}  // namespace muster::k8s
