// TokenMethod: opaque access tokens, `Authorization: Bearer mst_NAME_SECRET` (rule U12).
#pragma once

#include <functional>
#include <string>

#include "api/auth/authenticator.h"
#include "schedd/base/clock.h"
#include "schedd/model/config.h"

namespace muster::auth {

/// A token that was made: its text is shown once, the hash of its secret is kept.
struct MintedToken {
  std::string text;    // "mst_NAME_SECRET"
  std::string sha256;  // of SECRET, 64 hexadecimal digits
};
/// A new token of 256 random bits for the AccessToken object `name`.
MintedToken MintToken(const std::string& name);
/// A name for a token that nobody named: "t-" and 10 random characters of a-z and 2-7.
std::string TokenName();

/// Thread-safe.
class TokenMethod final : public CredentialMethod {
 public:
  /// `config` gives the published configuration, null before there is one; `clock` must outlive it.
  TokenMethod(std::function<ConfigPtr()> config, const Clock& clock);
  bool Recognises(const Authorization& authorization) const override;
  Result<Principal> Check(const Evidence& evidence) const override;
  /// Done for principals of other methods. Else: the token still exists, is the same one, names
  /// the same user, and has not expired.
  Status StillGood(const Principal& who) const override;

 private:
  const std::function<ConfigPtr()> config_;
  const Clock& clock_;
};

}  // namespace muster::auth
