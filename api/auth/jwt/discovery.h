// OpenID Connect Discovery 1.0: where an issuer says where its keys are (rule U54).
//
// Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::auth {

/// `jwks_uri` of the document. An error: no JSON object; another `issuer` than the one asked; a
/// `jwks_uri` over http, unless the issuer itself is on loopback and the address is too.
Result<std::string> JwksUriOf(std::string_view document, const std::string& issuer);

}  // namespace muster::auth
