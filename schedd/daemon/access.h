// Access: who may ask, and what they may do, put together from the configuration: accounts, the
// credential methods, the authenticator and the authorizer of the daemon.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/auth/authorizer.h"
#include "api/net/tls/tls_context.h"
#include "schedd/base/clock.h"
#include "schedd/daemon/config.h"
#include "schedd/model/config.h"

namespace muster {

/// Thread-safe.
class Access {
 public:
  /// `published` gives the published configuration, null before there is one. `tls` tells which
  /// client certificates are revoked; null without TLS. `clock` must outlive this object.
  Access(const DaemonConfig& config, const Clock& clock, std::function<ConfigPtr()> published,
         std::shared_ptr<const net::TlsSource> tls);
  ~Access();
  const auth::Authorizer& authorizer() const;
  const auth::Authenticator& authenticator() const;
  /// Which credentials are taken, in words.
  const std::vector<std::string>& accepted() const;
  /// What is wrong now: a sentence for each issuer whose keys could not be fetched, and one while
  /// the binding of a host's own users lets others in (LocalUsersProblem).
  std::vector<std::string> Problems() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether TCP clients of this host are known by their account (rule U10).
bool KnowsLoopbackPeers(const DaemonConfig& config);

/// The Unix sockets of REST and gRPC, as absolute paths; "" if the configuration has none.
std::string RestSocketOf(const DaemonConfig& config);
std::string GrpcSocketOf(const DaemonConfig& config);

}  // namespace muster
