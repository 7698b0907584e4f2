// Reads the keys, and judges them together once all are known.
#include "schedd/daemon/tls_config.h"

#include <filesystem>
#include <map>

namespace muster {
namespace {

// Names other than localhost are not resolved: a name may lead anywhere tomorrow.
bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Paths are made absolute, because the daemon may change its directory later.
Status TakeTlsPath(const std::string& value, std::string* out) {
  if (value.empty()) return InvalidArgument("must not be empty");
  std::error_code failed;
  *out = std::filesystem::absolute(value, failed).lexically_normal().string();
  if (failed) return InvalidArgument("\"" + value + "\" is not a path");
  return Done{};
}

// A name of a host, or an IP address, without a port.
bool IsServerName(const std::string& name) {
  const std::string allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:*_";
  return !name.empty() && name.find_first_not_of(allowed) == std::string::npos;
}

}  // namespace

Status TakeTlsKey(const std::string& key, const std::vector<std::string>& values, TlsConfig* out) {
  const std::map<std::string, std::string TlsConfig::*> paths = {
      {"tls-cert", &TlsConfig::certificate},
      {"tls-key", &TlsConfig::key},
      {"client-ca", &TlsConfig::client_ca},
      {"client-crl", &TlsConfig::client_crl},
  };
  if (const auto path = paths.find(key); path != paths.end())
    return TakeTlsPath(values.front(), &(out->*path->second));
  if (key == "tokens") {
    out->tokens = values.front() == "true";
    if (!out->tokens && values.front() != "false") return InvalidArgument("must be true or false");
  }
  if (key != "server-names") return Done{};
  for (const std::string& name : values) {
    if (!IsServerName(name)) return InvalidArgument("\"" + name + "\" is not a name of a host");
  }
  out->server_names = values;
  return Done{};
}

std::vector<FieldError> CheckListening(const HostPort& rest, const HostPort& grpc,
                                       const TlsConfig& tls, bool other_methods) {
  std::vector<FieldError> out;
  const bool encrypted = !tls.certificate.empty() && !tls.key.empty();
  if (!tls.certificate.empty() && tls.key.empty())
    out.push_back({"tls-cert", "needs the certificate's key: give tls-key"});
  if (tls.certificate.empty() && !tls.key.empty())
    out.push_back({"tls-key", "needs the key's certificate: give tls-cert"});
  if (!tls.client_ca.empty() && !encrypted)
    out.push_back({"client-ca", "needs TLS: give tls-cert and tls-key"});
  if (!tls.client_crl.empty() && tls.client_ca.empty())
    out.push_back({"client-crl", "needs the authority that revokes: give client-ca"});
  const bool known = !tls.client_ca.empty() || tls.tokens || other_methods;
  for (const auto& [key, host] : {std::pair{"rest", rest.host}, std::pair{"grpc", grpc.host}}) {
    if (IsLoopback(host) || host.empty()) continue;
    const std::string start = "\"" + host + "\" is beyond loopback, where musterd listens only ";
    if (!encrypted)
      out.push_back({key, start + "with TLS: give tls-cert and tls-key"});
    else if (!known)
      out.push_back({key, start + "if it can know its clients: give client-ca, oidc, munge, or "
                                  "tokens: true"});
  }
  return out;
}

}  // namespace muster
