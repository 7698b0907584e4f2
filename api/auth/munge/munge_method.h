// MungeMethod: `Authorization: Munge CREDENTIAL`, for sites that have munge for Slurm.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

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
  /// if there is no such account.
  using AccountLookup = std::function<Result<Principal>(std::uint32_t uid)>;
  struct AccountLookups {
    AccountLookup find;    // may wait for the name service
    AccountLookup recall;  // never waits; kUnavailable if nothing is known at the moment
  };

  /// `decoder` and `clock` must outlive this; both look-ups must be thread-safe.
  MungeMethod(MungeDecoder* decoder, AccountLookups accounts, const Clock* clock);

  bool Recognises(std::string_view authorization) const override;
  /// A credential counts for one request: its payload must be RequestDigest
  /// (schedd/text/request_digest.h) of the request's method, target and body, and it must not have
  /// been used before. In gRPC, whose messages have no one encoding, munge is refused (no method).
  /// The principal is the account's, with the method "munge", the uid and the credential "uid:UID".
  Result<Principal> Check(const Evidence& evidence) const override;
  /// The credential has been used up; what can change is the account. kUnauthenticated if it is
  /// gone. Does not wait.
  Status StillGood(const Principal& who) const override;
  bool MayBlock(std::string_view) const override { return true; }

 private:
  MungeDecoder* const decoder_;
  const AccountLookups accounts_;
  const Clock* const clock_;
  mutable SeenCredentials seen_;
};

}  // namespace muster::auth
