// Renewing a login that is kept (rule U57).
#pragma once

#include <string>

#include "clients/lib/oidc_session.h"

namespace muster::client {

/// Asks the provider for new tokens by the refresh token and replaces the file, under the lock of
/// RenewOnce. Done also if there is no login, or if another command has renewed it meanwhile.
/// kUnauthenticated: the provider has ended the login. kUnavailable: it cannot be reached.
Status RenewStoredLogin(const std::string& file);

}  // namespace muster::client
