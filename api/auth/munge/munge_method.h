// MungeMethod: `Authorization: Munge CREDENTIAL`, for sites that have munge for Slurm.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "api/auth/authenticator.h"
#include "api/auth/munge/munge_decoder.h"
#include "api/auth/munge/seen_credentials.h"
#include "schedd/base/clock.h"

namespace muster::auth {

/// Thread-safe. Check blocks while munged works (MungeDecoder), so it must not run on a thread that
/// other connections wait for.
class MungeMethod final : public CredentialMethod {
 public:
  /// The user and the groups of a local account, as for a connection over the Unix socket; an error
  /// if there is no such account, kUnavailable if the name service does not answer. May wait for
  /// it.
  using AccountLookup = std::function<Result<Principal>(std::uint32_t uid)>;

  /// `decoder` and `clock` must outlive this; the look-up must be thread-safe.
  MungeMethod(MungeDecoder* decoder, AccountLookup account, const Clock* clock);

  bool Recognises(const Authorization& authorization) const override;
  /// A credential counts for one request: its payload must be RequestDigest
  /// (schedd/text/request_digest.h) of the request's method, target and body, and it must not have
  /// been used before. In gRPC, whose messages have no one encoding, munge is refused (no method).
  /// The principal is the account's, with the method "munge", the uid and the credential "uid:UID".
  Result<Principal> Check(const Evidence& evidence) const override;
  /// Done: the credential has been used up. What can change is the account, which the authenticator
  /// asks about for every method that names one.
  Status StillGood(const Principal&) const override { return Done{}; }
  bool MayBlock(const Authorization&) const override { return true; }

 private:
  /// Asks munged. While it is away one request at a time waits for it, and the others are
  /// kUnavailable at once: anybody can send what looks like a credential.
  Result<DecodedCredential> Decode(const std::string& credential) const;

  MungeDecoder* const decoder_;
  const AccountLookup account_;
  const Clock* const clock_;
  mutable SeenCredentials seen_;
  mutable std::atomic<int> asking_{0};     // requests that wait for munged
  mutable std::atomic<bool> away_{false};  // it did not answer the last time
};

}  // namespace muster::auth
