#include "api/auth/jwt/discovery.h"

#include "schedd/text/json.h"
#include "schedd/text/lenient.h"
#include "schedd/text/provider_url.h"

namespace muster::auth {

// Section 4.3: the issuer must be exactly the one asked, or one provider could speak for another.
Result<std::string> JwksUriOf(std::string_view document, const std::string& issuer) {
  Result<json::value> parsed = ParseJson(document);
  if (!parsed.ok() || !parsed->is_object()) {
    return InvalidArgument("the discovery document is no JSON object");
  }
  const std::string named = TextAt(*parsed, "issuer");
  if (named != issuer) {
    return InvalidArgument("the discovery document is of another issuer, \"" + named + "\"");
  }
  std::string uri = TextAt(*parsed, "jwks_uri");
  std::string problem = ProviderUrlProblem(uri);
  if (problem.empty() && uri.starts_with("http://") && !issuer.starts_with("http://")) {
    problem = "an issuer with https must give its keys by https";
  }
  if (!problem.empty()) return InvalidArgument("jwks_uri \"" + uri + "\": " + problem);
  return uri;
}

}  // namespace muster::auth
