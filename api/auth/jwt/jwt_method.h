// JwtMethod: `Authorization: Bearer` with a JSON web token of a configured issuer.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth/authenticator.h"
#include "api/auth/jwt/jwks_source.h"
#include "api/auth/jwt/verified_tokens.h"

namespace muster::auth {

/// Thread-safe. Check waits for an issuer's keys where a token names a key that is not known
/// (JwksSource::KeysFor), unless the evidence forbids it: on a thread that other connections wait
/// for.
class JwtMethod final : public CredentialMethod {
 public:
  /// One thread per issuer begins. `fetcher` and `clock` must outlive this.
  JwtMethod(const std::vector<IssuerConfig>& issuers, DocumentFetcher* fetcher, const Clock* clock);

  /// A bearer token with a dot in it, unless it begins as an access token of Muster's own ("mst_").
  bool Recognises(const Authorization& authorization) const override;
  /// The principal has the method "jwt", the credential "ISSUERNAME/KID", and ends when the token
  /// does. kUnavailable: the issuer is known and its keys are not, or
  /// they are being fetched and the evidence forbids to wait.
  Result<Principal> Check(const Evidence& evidence) const override;
  /// kUnauthenticated once the token has ended. Keys that were taken away meanwhile end no open
  /// stream: the token was good when it began.
  Status StillGood(const Principal& who) const override;
  /// False for a token that is remembered: nobody has to be asked about it.
  bool MayBlock(const Authorization& authorization) const override;
  /// A sentence for each issuer whose keys could not be fetched the last time.
  std::vector<std::string> Warnings() const;

 private:
  JwksSource* SourceOf(std::string_view issuer) const;

  const Clock* const clock_;
  std::vector<std::unique_ptr<JwksSource>> sources_;
  mutable VerifiedTokens verified_;
};

}  // namespace muster::auth
