// TlsContext: what all connections of a server share: its certificate and key, the authority of
// client certificates, the list of revoked ones, and the versions and ciphers that are spoken.
#pragma once

#include <openssl/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/net/peer.h"
#include "schedd/base/result.h"

namespace muster::net {

/// PEM texts, and the names of the server.
struct TlsMaterial {
  std::string certificate_pem;  // the server's, then its chain
  std::string key_pem;
  std::string client_ca_pem;   // "": no client is asked for a certificate
  std::string client_crl_pem;  // "": nothing is revoked; else a list of each authority in the chain
  std::vector<std::string> names;  // empty: those of the certificate
};

/// The serial numbers of revoked certificates by their issuer, both as PeerCertificate has them.
using RevokedSerials = std::map<std::string, std::unordered_set<std::string>>;

/// Immutable, thread-safe.
class TlsContext {
 public:
  /// kInvalidArgument with one sentence that names the configuration key of what is unusable; a
  /// certificate that has expired is.
  static Result<std::shared_ptr<const TlsContext>> Make(const TlsMaterial& material);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  /// Names and addresses under which clients may address the server, in lower case; a name may
  /// begin with "*.".
  const std::vector<std::string>& names() const { return names_; }
  const std::string& serial() const { return serial_; }      // hexadecimal
  std::int64_t not_after_s() const { return not_after_s_; }  // seconds since 1970
  /// Whether the certificate is on the list of its issuer that this context was made of.
  bool IsRevoked(const PeerCertificate& certificate) const;
  SSL_CTX* handle() const { return context_; }

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}

  SSL_CTX* const context_;
  std::vector<std::string> names_;
  std::string serial_;
  std::int64_t not_after_s_ = 0;
  RevokedSerials revoked_;
};
using TlsContextPtr = std::shared_ptr<const TlsContext>;

/// Where servers get the context for a new connection; connections keep the one they began with.
/// Thread-safe.
class TlsSource {
 public:
  virtual ~TlsSource() = default;
  /// Never null.
  virtual TlsContextPtr Current() const = 0;
  /// Looks whether the material has changed. May read files. Called every
  /// limits::kTlsRefreshS.
  virtual void Refresh() = 0;
};

}  // namespace muster::net
