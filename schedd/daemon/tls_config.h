// The part of the configuration that says how the servers listen beyond loopback: TLS, and by what
// remote clients are known (rules U40 to U43).
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster {

struct HostPort {
  std::string host;
  int port = 0;
};

/// The keys tls-cert, tls-key, client-ca, client-crl, server-names and tokens. Paths are absolute;
/// "" where the key is not given.
struct TlsConfig {
  std::string certificate, key;
  std::string client_ca, client_crl;
  std::vector<std::string> server_names;
  /// Access tokens are how this site's remote clients are known. They are taken in any case; the
  /// key says that no other method is wanted before the servers listen beyond loopback.
  bool tokens = false;
};

/// Takes the values of `key`, if it is one of the above, and does nothing otherwise. The error's
/// sentence goes behind the key's name.
Status TakeTlsKey(const std::string& key, const std::vector<std::string>& values, TlsConfig* out);

/// Every contradiction: a file without the one that it belongs to; a server beyond loopback without
/// TLS, or without a way to know remote clients. `other_methods`: the configuration has one that is
/// not in `tls` (OIDC, munge).
std::vector<FieldError> CheckListening(const HostPort& rest, const HostPort& grpc,
                                       const TlsConfig& tls, bool other_methods);

}  // namespace muster
