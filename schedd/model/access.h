// Who may do what, as plain values: roles and bindings (rbac.authorization.k8s.io/v1) and access
// tokens. access_table.h answers questions about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// rbac.authorization.k8s.io/v1 PolicyRule. "*" stands for every verb, group, resource or path, and
/// "*/SUB" for a subresource of every resource; a path may end in "*".
struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups, resources;
  std::vector<std::string> resource_names;     // empty: every name
  std::vector<std::string> non_resource_urls;  // paths; such a rule has no groups and resources
  bool operator==(const PolicyRule&) const = default;
};

/// A Role, or with an empty namespace a ClusterRole.
struct Role {
  std::string ns, name;
  LabelMap labels;
  std::vector<PolicyRule> rules;
  /// Of a ClusterRole with an aggregationRule: its rules are those of all ClusterRoles that one of
  /// the selectors matches, and `rules` is empty.
  std::optional<std::vector<LabelSelector>> aggregated;
};

struct AccessSubject {
  enum class Kind : std::uint8_t { kUser, kGroup };
  Kind kind = Kind::kUser;
  /// A ServiceAccount is the user "system:serviceaccount:NAMESPACE:NAME".
  std::string name;
  bool operator==(const AccessSubject&) const = default;
};

/// A RoleBinding, or with an empty namespace a ClusterRoleBinding.
struct RoleBinding {
  std::string ns, name;
  std::vector<AccessSubject> subjects;
  /// The role: a ClusterRole, or the Role of this name in the binding's namespace.
  bool cluster_role = true;
  std::string role;
};

/// An opaque token (muster.io/v1 AccessToken). Its secret is shown once and not kept.
struct AccessToken {
  std::string name;
  std::string user;
  std::vector<std::string> groups;
  /// The local account that jobs submitted with it run as; unset: none.
  std::optional<std::uint32_t> uid;
  WallTime expires;    // unset: never
  std::string sha256;  // of the secret, 64 hexadecimal digits
};

/// The group whose members may do everything, whatever the roles say; as in Kubernetes.
inline constexpr char kMastersGroup[] = "system:masters";
/// The groups of every caller whose identity is known, and of callers without credentials.
inline constexpr char kAuthenticatedGroup[] = "system:authenticated";
inline constexpr char kUnauthenticatedGroup[] = "system:unauthenticated";

}  // namespace muster
