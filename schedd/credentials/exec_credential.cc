// Takes the members of `status` that Kubernetes' clients take.
#include "schedd/credentials/exec_credential.h"

#include <algorithm>

#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

Error Refused(std::string what) {
  return {Code::kUnauthenticated, "the exec plugin " + std::move(what)};
}

}  // namespace

bool FitsBearerHeader(std::string_view token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// Sentences say what is wrong with the output and never quote it.
Result<ExecCredentials> ParseExecCredential(std::string_view text, const std::string& api_version) {
  const auto value = ParseJson(text);
  if (!value || !value->is_object()) return Refused("did not print a JSON object");
  const json::object& credential = value->get_object();
  if (TextAt(credential, "kind") != "ExecCredential")
    return Refused("did not print an ExecCredential");
  if (TextAt(credential, "apiVersion") != api_version)
    return Refused("printed another apiVersion than it was asked for");
  const json::object* given = FindObject(credential, "status");
  if (given == nullptr) return Refused("printed no status");
  ExecCredentials out;
  out.token = TextAt(given, "token");
  out.certificate_pem = TextAt(given, "clientCertificateData");
  out.key_pem = TextAt(given, "clientKeyData");
  if (out.certificate_pem.empty() != out.key_pem.empty())
    return Refused("printed a certificate without its key, or a key without its certificate");
  if (out.token.empty() && out.certificate_pem.empty()) return Refused("printed no credentials");
  if (!FitsBearerHeader(out.token)) return Refused("printed a token with a blank in it");
  const std::string expires = TextAt(given, "expirationTimestamp");
  if (!expires.empty() && !ParseRfc3339(expires, &out.expires))
    return Refused("printed an expirationTimestamp that is no time");
  return out;
}

}  // namespace muster
