// From the text of a JSON web token to the user and groups that its issuer vouches for (RFC 7519,
// RFC 8725; rules U51 to U53).
//
// Pure functions, thread-safe. All refusals are kUnauthenticated; their sentences give nothing of
// the token away but the name of what is wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/auth/jwt/issuer.h"
#include "api/auth/jwt/key_set.h"
#include "schedd/base/result.h"
#include "schedd/base/time.h"
#include "schedd/text/json.h"

namespace muster::auth {

/// A token that is well-formed and whose signature nobody has looked at: nothing of it may be
/// believed yet. `issuer` and `kid` only say which key to ask.
struct UncheckedJwt {
  std::string compact;
  const JwsAlgorithm* algorithm = nullptr;
  std::size_t signature_bytes = 0;
  std::string kid, issuer;
  json::object claims;
};

/// Takes the compact form apart. Refused: more than limits::kJwtBytes; not three parts of base64url
/// in its one spelling; JSON with a repeated key; another algorithm than the nine of
/// FindJwsAlgorithm; `crit` and `b64`; a `typ` that is no token for access or identity; no `kid`;
/// no `iss`.
Result<UncheckedJwt> ParseJwt(std::string_view token);

/// Whom a good token names.
struct JwtIdentity {
  std::string user;
  std::vector<std::string> groups;
  /// When the token ends, with the skew of limits::kJwtSkewS.
  WallTime expires;
};

/// Checks the signature and the claims by the rules of an issuer at a time.
Result<JwtIdentity> CheckJwt(const UncheckedJwt& token, const KeySet& keys,
                             const IssuerConfig& issuer, WallTime now);

}  // namespace muster::auth
