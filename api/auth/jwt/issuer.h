// IssuerConfig: an issuer of JSON web tokens that this installation trusts.
#pragma once

#include <string>
#include <vector>

namespace muster::auth {

/// A plain value, one entry of `oidc:` in the configuration file (rule U50).
struct IssuerConfig {
  std::string name;    // for messages and the default prefixes
  std::string issuer;  // the URL, as tokens spell it in `iss`
  /// A token must be meant for one of them. Never empty.
  std::vector<std::string> audiences;
  std::string user_claim = "sub", groups_claim = "groups";
  /// Put before each name; "": none.
  std::string user_prefix, groups_prefix;
  /// The client that the web page signs in as (authorization code with PKCE, no secret); "": none.
  std::string web_client;
  std::string ca;  // file of the certificates that the provider's is checked with; "": the system's
};

}  // namespace muster::auth
