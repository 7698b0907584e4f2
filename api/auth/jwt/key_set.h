// KeySet: the public keys of an issuer, and the signatures they prove.
//
// Plain values, thread-safe to read. This is the only header of the room behind which cjose stands.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

// cjose's key.
struct _cjose_jwk_int;

namespace muster::auth {

/// One of the nine signature algorithms that are accepted (RFC 7518): RS, PS and ES with 256, 384
/// and 512.
struct JwsAlgorithm {
  std::string_view name;
  bool elliptic;
  std::string_view curve;  // of ES*; "" for RSA
  std::size_t coordinate;  // bytes of one coordinate of that curve; 0 for RSA
};

/// Null for everything else, among it none and HS*. The comparison is exact.
const JwsAlgorithm* FindJwsAlgorithm(std::string_view name);

/// A public key of an issuer.
class VerificationKey {
 public:
  /// `jwk` is a member of `keys` (RFC 7517). An error says why the key cannot be used: no kid; not
  /// for signatures; another algorithm than the nine; private; RSA of less than
  /// limits::kRsaBitsMin bits; a point that is not on its curve.
  static Result<VerificationKey> Parse(std::string_view jwk);

  const std::string& kid() const { return kid_; }
  /// Whether signatures of this algorithm can be made with the key: its type, its curve and, where
  /// the key names one, its algorithm.
  bool Fits(const JwsAlgorithm& algorithm) const;
  /// Whether the signature of a token in compact form is good. The token's header must name an
  /// algorithm that fits.
  bool Verifies(std::string_view compact) const;
  /// Bytes of each signature of this key.
  std::size_t signature_bytes() const { return signature_bytes_; }

 private:
  VerificationKey() = default;

  std::string kid_, alg_, curve_;
  std::size_t signature_bytes_ = 0;
  std::shared_ptr<_cjose_jwk_int> key_;
};

/// The keys of one document.
class KeySet {
 public:
  /// Keys that cannot be used are left out, as RFC 7517 demands. An error: it is no key set, has
  /// more than limits::kIssuerKeys keys, or none that can be used.
  static Result<std::shared_ptr<const KeySet>> Parse(std::string_view jwks);

  /// Whether there is a key of this name, for whatever algorithm.
  bool Knows(std::string_view kid) const;
  /// The first key of this name that fits; null if there is none.
  const VerificationKey* Find(std::string_view kid, const JwsAlgorithm& algorithm) const;
  std::size_t size() const { return keys_.size(); }

 private:
  std::vector<VerificationKey> keys_;
};
using KeySetPtr = std::shared_ptr<const KeySet>;

}  // namespace muster::auth
