// UserResource: the resource that stands for a user in questions about impersonation.
#pragma once

#include <string_view>

#include "api/auth/authorizer.h"

namespace muster::auth {

/// The question of Kubernetes' impersonation filter about a user: service accounts are a resource
/// of their own, in their namespace. Views of `user`.
inline ResourceRef UserResource(std::string_view user) {
  constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";
  if (user.starts_with(kServiceAccountPrefix)) {
    const std::string_view rest = user.substr(kServiceAccountPrefix.size());
    const std::size_t colon = rest.find(':');
    if (colon != std::string_view::npos)
      return {"", "serviceaccounts", "", rest.substr(0, colon), rest.substr(colon + 1)};
  }
  return {"", "users", "", "", user};
}

}  // namespace muster::auth
