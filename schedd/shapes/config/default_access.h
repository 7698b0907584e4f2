// The roles and bindings that a new installation gets (rule U8): Kubernetes' cluster-admin, Kueue's
// roles for batch administrators and batch users, and what everybody needs.
//
// Pure functions; thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "schedd/text/json.h"

namespace muster::shapes {

/// Each has the label kubernetes.io/bootstrapping: rbac-defaults.
inline constexpr char kBootstrappingLabel[] = "kubernetes.io/bootstrapping";
inline constexpr char kDefaultsValue[] = "rbac-defaults";
/// The binding that `local_only` adds; who lets a second person in deletes it.
inline constexpr char kLocalUsers[] = "muster-local-users";

/// The manifests, in an order in which they can be applied. `local_only`: nobody can reach this
/// installation but the accounts of its host, and each of them may do what a batch user may, in
/// every namespace, as before there were roles.
std::vector<json::object> DefaultAccess(bool local_only);

}  // namespace muster::shapes
