// ChainAuthenticator: the one authenticator of the daemon, for REST and gRPC (rules U10 to U14).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/accounts.h"
#include "api/auth/authenticator.h"
#include "api/auth/authorizer.h"
#include "schedd/base/clock.h"

namespace muster::auth {

struct ChainOptions {
  /// Asked in order about an Authorization header.
  std::vector<std::shared_ptr<const CredentialMethod>> methods = {};
  /// What is accepted, in words, for the sentence of a 401: "an access token", "a JWT".
  std::vector<std::string> accepted = {};
  /// Clients on this host's loopback are known by the account of their process.
  bool loopback_peers = true;
  /// The daemon's own account, which may do everything, as root may.
  std::uint32_t own_uid = 0;
  /// Whether a client certificate that was good still is (its revocation list); null: no list.
  std::function<Status(const Principal&)> certificate_still_good = {};
};

/// Thread-safe.
class ChainAuthenticator final : public Authenticator {
 public:
  /// All references must outlive it.
  ChainAuthenticator(Accounts& accounts, const Authorizer& authorizer, const Clock& clock,
                     ChainOptions options);
  Result<Principal> Authenticate(const Evidence& evidence) const override;
  Status StillGood(const Principal& who) const override;
  bool MayBlock(const Authorization& authorization, const net::Peer* peer) const override;
  void Prepare(const net::Peer& peer, std::function<void()> ready) const override;

 private:
  Result<Principal> Established(const Evidence& evidence) const;
  Result<Principal> ByHeader(const Evidence& evidence) const;
  Result<Principal> ByCertificate(const net::Peer& peer) const;
  Result<Principal> ByAccount(const net::Peer& peer, bool may_wait) const;
  /// What a request without any credential is told.
  Error Nobody(const net::Peer* peer) const;
  /// The uid if the kernel's word about this peer counts.
  std::optional<std::uint32_t> AccountOf(const net::Peer& peer) const;
  Result<Principal> Impersonate(Principal who, const Evidence& evidence) const;
  /// Done, or the refusal, which is noted.
  Status MayImpersonate(const Principal& who, const Evidence& evidence) const;
  Status CredentialStillGood(const Principal& who) const;
  /// Whether the account of `who`, or of the one who acts as `who`, still has its name and groups.
  Status AccountStillGood(const Principal& who) const;
  /// Done if nobody acts as `who`.
  Status MayStillImpersonate(const Principal& who) const;

  Accounts& accounts_;
  const Authorizer& authorizer_;
  const Clock& clock_;
  const ChainOptions options_;
};

}  // namespace muster::auth
