// The section `oidc:` of the configuration file: issuers of JSON web tokens (rule U50).
#pragma once

#include <string>
#include <vector>

#include "api/auth/jwt/issuer.h"
#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster {

/// Reads the list. Each problem is added with its place: "PATH: oidc[0].issuer". `*issuers` is
/// meaningful only if none was added.
void TakeOidc(const std::string& path, const json::value& section,
              std::vector<auth::IssuerConfig>* issuers, std::vector<FieldError>* problems);

}  // namespace muster
