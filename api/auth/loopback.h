// The policy of this version, for servers that listen on loopback only.
#pragma once

#include <string_view>

#include "api/auth/authorizer.h"

namespace muster::auth {

/// Allows every principal everything.
class LoopbackAuthorizer final : public Authorizer {
 public:
  Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const override;
};

/// The principal of a loopback request: the user that it names (header X-Muster-User or metadata
/// x-muster-user), "anonymous" if it names none. kUnauthenticated if the name is not 1-64
/// characters of [A-Za-z0-9._@-], or if the request has `credentials` (an Authorization header),
/// which nothing can check yet.
Result<Principal> LoopbackPrincipal(std::string_view claimed_user, bool credentials);

}  // namespace muster::auth
