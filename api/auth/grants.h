// What nobody may give who does not have it: rules of roles, and identities of tokens. These are
// Kubernetes' checks of escalation, binding and impersonation (pkg/registry/rbac/*/policybased,
// apiserver's impersonation filter): rules U6 and U7.
//
// Pure functions of their arguments; thread-safe.
#pragma once

#include <string>

#include "api/auth/authorizer.h"
#include "schedd/base/result.h"
#include "schedd/model/config.h"

namespace muster::auth {

/// A role, binding or token that is about to be written.
struct GrantRef {
  ObjectKind kind = ObjectKind::kRole;
  std::string ns, name;
};

/// Whether `who` may give what the object gives. `now` is the published table, from which the
/// asker's own rights come; `after` the table with the change, in which the object is found. Kinds
/// that give nothing are allowed, and so is a removal: call this for objects that are put. It is
/// asked besides the question whether `who` may create or update the object at all.
/// kPermissionDenied with Kubernetes' sentence; kNotFound if a binding names no role.
Status CheckGrant(const AccessTable& now, const AccessTable& after, const Authorizer& authorizer,
                  const Principal& who, const GrantRef& object);

}  // namespace muster::auth
