// Logging in on a terminal: OAuth's device authorization grant (RFC 8628, rule U57).
#pragma once

#include <functional>
#include <string>

#include "clients/lib/oidc_session.h"
#include "clients/lib/outcome.h"

namespace muster::client {

/// What the user is told: where to go, and the code to type there.
struct DevicePrompt {
  std::string address, code;
  std::string complete_address;  // with the code in it; "" if the provider gives none
};

/// The parts of the terminal and the clock, so that tests have neither.
struct LoginHandlers {
  std::function<void(const DevicePrompt&)> prompt;
  std::function<void(int seconds)> wait;
};

/// Asks the provider for a device code, shows it by `prompt`, and asks for the tokens until the
/// user has agreed, has refused, or the code has expired. The result is not stored. `server`: the
/// server that the tokens are for.
Outcome<StoredLogin> LogIn(const OidcClient& client, const std::string& server,
                           const LoginHandlers& handlers);

}  // namespace muster::client
