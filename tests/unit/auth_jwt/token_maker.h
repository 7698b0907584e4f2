// Makes keys and tokens for the tests by OpenSSL alone, so that neither cjose nor our own code
// judges its own work.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>

#include "schedd/text/json.h"

namespace muster::testing {

/// Base64url without padding.
std::string Base64Url(std::string_view bytes);

/// A private key with a name. Copies share the key.
class SigningKey {
 public:
  /// `type`: "RSA", "P-256", "P-384" or "P-521"; `bits` of RSA.
  SigningKey(std::string kid, const std::string& type, unsigned bits = 2048);
  /// The public key as JWK, with `use` "sig".
  json::object Jwk() const;
  /// The signature of a text by RS*, PS* or ES*, whatever the text says.
  std::string Sign(std::string_view algorithm, std::string_view text) const;
  /// The public key as PEM: the secret of the attack that swaps RS256 for HS256.
  std::string PublicPem() const;
  const std::string& kid() const { return kid_; }

 private:
  std::string kid_, type_;
  std::shared_ptr<EVP_PKEY> key_;
};

/// HEADER.PAYLOAD.SIGNATURE of two texts that need not be JSON.
std::string SignedToken(const SigningKey& key, std::string_view algorithm, std::string_view header,
                        std::string_view payload);
/// The same with {"alg":ALGORITHM,"kid":...,"typ":"JWT"} and the claims.
std::string SignedToken(const SigningKey& key, std::string_view algorithm,
                        const json::object& claims);
/// A token with an HMAC-SHA256 by a secret.
std::string HmacToken(std::string_view secret, std::string_view header, std::string_view payload);

/// A key set of these keys.
std::string JwksOf(std::initializer_list<json::object> keys);

}  // namespace muster::testing
