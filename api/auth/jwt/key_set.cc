// Keys are judged here and imported by cjose, which also computes the signatures. What cjose would
// let pass is refused before it sees the key: weak RSA, an exponent of 1, secrets, encryption keys.
//
// Verifying reads a key only, so threads share one. OpenSSL queues its errors per thread; the queue
// is emptied after each call, because TLS on the same thread would take the errors for its own.
#include "api/auth/jwt/key_set.h"

#include <cjose/cjose.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <bit>

#include "api/auth/jwt/base64url.h"
#include "schedd/base/limits.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::auth {
namespace {

constexpr std::array<JwsAlgorithm, 9> kAlgorithms = {{
    {"RS256", false, "", 0},
    {"RS384", false, "", 0},
    {"RS512", false, "", 0},
    {"PS256", false, "", 0},
    {"PS384", false, "", 0},
    {"PS512", false, "", 0},
    {"ES256", true, "P-256", 32},
    {"ES384", true, "P-384", 48},
    {"ES512", true, "P-521", 66},
}};

// The members of a private or symmetric key (RFC 7518, section 6).
constexpr std::array<const char*, 8> kSecretMembers = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};

// A number as JWK writes it, without zero bytes in front; "" if it is absent or malformed.
std::string NumberBytes(const json::object& key, const char* member) {
  std::string bytes = DecodeBase64Url(TextAt(key, member)).value_or("");
  bytes.erase(0, std::min(bytes.find_first_not_of('\0'), bytes.size()));
  return bytes;
}

std::size_t BitsOf(const std::string& number) {
  if (number.empty()) return 0;
  return 8 * (number.size() - 1) +
         static_cast<std::size_t>(std::bit_width(static_cast<unsigned char>(number.front())));
}

// "" if the key may be used for signatures as far as it says itself.
std::string UseProblem(const json::object& key) {
  for (const char* member : kSecretMembers) {
    if (key.contains(member)) return "it is a secret key";
  }
  if (key.contains("use") && TextAt(key, "use") != "sig") return "it is not for signatures";
  if (const json::value* operations = key.if_contains("key_ops")) {
    const json::array* list = operations->if_array();
    const bool verifies = list != nullptr && std::find(list->begin(), list->end(),
                                                       json::value("verify")) != list->end();
    if (!verifies) return "it is not for signatures";
  }
  if (key.contains("alg") && FindJwsAlgorithm(TextAt(key, "alg")) == nullptr) {
    return "its algorithm is not accepted";
  }
  return "";
}

// "" if the RSA key is strong enough. Exponents of more than 32 bits only cost time.
std::string RsaProblem(const json::object& key, std::size_t* modulus_bytes) {
  const std::string modulus = NumberBytes(key, "n");
  const std::size_t bits = BitsOf(modulus);
  if (bits < limits::kRsaBitsMin || bits > limits::kRsaBitsMax) {
    return "its modulus has " + std::to_string(bits) + " bits";
  }
  const std::string exponent = NumberBytes(key, "e");
  const bool odd = !exponent.empty() && (static_cast<unsigned char>(exponent.back()) & 1) == 1;
  if (!odd || exponent == "\x01" || exponent.size() > 4) return "its exponent is not accepted";
  *modulus_bytes = modulus.size();
  return "";
}

// RFC 7518, section 6.2.1: the coordinates have the full length of the curve.
std::string CurveProblem(const json::object& key, std::size_t* coordinate_bytes) {
  const std::string curve = TextAt(key, "crv");
  for (const JwsAlgorithm& algorithm : kAlgorithms) {
    if (algorithm.elliptic && algorithm.curve == curve) *coordinate_bytes = algorithm.coordinate;
  }
  if (*coordinate_bytes == 0) return "its curve is not accepted";
  for (const char* member : {"x", "y"}) {
    if (DecodeBase64Url(TextAt(key, member)).value_or("").size() != *coordinate_bytes) {
      return "its point is malformed";
    }
  }
  return "";
}

Error UnusableKey(const std::string& why) {
  return InvalidArgument("the key cannot be used: " + why);
}

}  // namespace

const JwsAlgorithm* FindJwsAlgorithm(std::string_view name) {
  const auto* found = std::find_if(kAlgorithms.begin(), kAlgorithms.end(),
                                   [&](const JwsAlgorithm& one) { return one.name == name; });
  return found == kAlgorithms.end() ? nullptr : found;
}

Result<VerificationKey> VerificationKey::Parse(std::string_view jwk) {
  Result<json::value> parsed = ParseJson(jwk);
  if (!parsed.ok() || !parsed->is_object()) return UnusableKey("it is no JSON object");
  const json::object& object = parsed->get_object();
  VerificationKey out;
  out.kid_ = TextAt(object, "kid");
  if (out.kid_.empty()) return UnusableKey("it has no kid");
  out.alg_ = TextAt(object, "alg");
  std::string problem = UseProblem(object);
  const std::string type = TextAt(object, "kty");
  if (problem.empty() && type == "RSA") {
    problem = RsaProblem(object, &out.signature_bytes_);
  } else if (problem.empty() && type == "EC") {
    problem = CurveProblem(object, &out.signature_bytes_);
    out.signature_bytes_ *= 2;
    out.curve_ = TextAt(object, "crv");
  } else if (problem.empty()) {
    problem = "its type is not accepted";
  }
  if (!problem.empty()) return UnusableKey(problem);
  out.key_.reset(cjose_jwk_import(jwk.data(), jwk.size(), nullptr),
                 [](_cjose_jwk_int* key) { cjose_jwk_release(key); });
  ERR_clear_error();
  if (out.key_ == nullptr) return UnusableKey("its numbers are no key");
  return out;
}

bool VerificationKey::Fits(const JwsAlgorithm& algorithm) const {
  return algorithm.curve == curve_ && (alg_.empty() || alg_ == algorithm.name);
}

bool VerificationKey::Verifies(std::string_view compact) const {
  const std::unique_ptr<cjose_jws_t, decltype(&cjose_jws_release)> token(
      cjose_jws_import(compact.data(), compact.size(), nullptr), &cjose_jws_release);
  const bool good = token != nullptr && cjose_jws_verify(token.get(), key_.get(), nullptr);
  ERR_clear_error();
  return good;
}

Result<KeySetPtr> KeySet::Parse(std::string_view jwks) {
  Result<json::value> parsed = ParseJson(jwks);
  if (!parsed.ok()) return InvalidArgument("the key set is not JSON: " + parsed.error().detail);
  const json::array* keys = FindArray(*parsed, "keys");
  if (keys == nullptr) return InvalidArgument("the key set has no list of keys");
  if (keys->size() > limits::kIssuerKeys) return InvalidArgument("the key set has too many keys");
  auto out = std::make_shared<KeySet>();
  std::string problem = "it is empty";
  for (const json::value& key : *keys) {
    Result<VerificationKey> one = VerificationKey::Parse(WriteJson(key));
    if (one.ok()) {
      out->keys_.push_back(std::move(one).value());
    } else {
      problem = one.error().detail;
    }
  }
  if (out->keys_.empty()) {
    return InvalidArgument("the key set has no key that can be used: " + problem);
  }
  return KeySetPtr(std::move(out));
}

bool KeySet::Knows(std::string_view kid) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const auto& key) { return key.kid() == kid; });
}

const VerificationKey* KeySet::Find(std::string_view kid, const JwsAlgorithm& algorithm) const {
  for (const VerificationKey& key : keys_) {
    if (key.kid() == kid && key.Fits(algorithm)) return &key;
  }
  return nullptr;
}

}  // namespace muster::auth
