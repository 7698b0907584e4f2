#include "tests/unit/auth_jwt/token_maker.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <vector>

#include "schedd/base/check.h"
#include "schedd/text/base64.h"

namespace muster::testing {
namespace {

// A parameter of the key as bytes of a length; 0: as many as it has.
std::string NumberOf(EVP_PKEY* key, const char* name, int bytes) {
  BIGNUM* number = nullptr;
  MUSTER_CHECK(EVP_PKEY_get_bn_param(key, name, &number) == 1);
  std::string out(static_cast<std::size_t>(bytes == 0 ? BN_num_bytes(number) : bytes), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
  BN_free(number);
  return out;
}

int CoordinateBytes(const std::string& type) {
  return type == "P-256" ? 32 : type == "P-384" ? 48 : 66;
}

// OpenSSL writes ASN.1, JSON web signatures have the two numbers one after the other.
std::string RawSignature(const std::string& der, int bytes) {
  const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(der.size()));
  MUSTER_CHECK(parts != nullptr);
  std::string out(static_cast<std::size_t>(2 * bytes), '\0');
  auto* at = reinterpret_cast<unsigned char*>(out.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(parts), at, bytes);
  BN_bn2binpad(ECDSA_SIG_get0_s(parts), at + bytes, bytes);
  ECDSA_SIG_free(parts);
  return out;
}

}  // namespace

std::string Base64Url(std::string_view bytes) {
  std::string out = EncodeBase64(bytes);
  while (!out.empty() && out.back() == '=') out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

SigningKey::SigningKey(std::string kid, const std::string& type, unsigned bits)
    : kid_(std::move(kid)), type_(type) {
  EVP_PKEY* key = type == "RSA" ? EVP_RSA_gen(bits) : EVP_EC_gen(type.c_str());
  MUSTER_CHECK(key != nullptr);
  key_.reset(key, &EVP_PKEY_free);
}

json::object SigningKey::Jwk() const {
  json::object out = {{"kid", kid_}, {"use", "sig"}};
  if (type_ == "RSA") {
    out["kty"] = "RSA";
    out["n"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_N, 0));
    out["e"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_E, 0));
  } else {
    const int bytes = CoordinateBytes(type_);
    out["kty"] = "EC";
    out["crv"] = type_;
    out["x"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, bytes));
    out["y"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, bytes));
  }
  return out;
}

std::string SigningKey::Sign(std::string_view algorithm, std::string_view text) const {
  const EVP_MD* digest = algorithm.ends_with("256")   ? EVP_sha256()
                         : algorithm.ends_with("384") ? EVP_sha384()
                                                      : EVP_sha512();
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  EVP_PKEY_CTX* parameters = nullptr;
  MUSTER_CHECK(EVP_DigestSignInit(context.get(), &parameters, digest, nullptr, key_.get()) == 1);
  if (algorithm.starts_with("PS")) {
    EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  MUSTER_CHECK(EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1);
  std::string out(size, '\0');
  MUSTER_CHECK(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                              bytes, text.size()) == 1);
  out.resize(size);
  return type_ == "RSA" ? out : RawSignature(out, CoordinateBytes(type_));
}

std::string SigningKey::PublicPem() const {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(memory, key_.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(memory);
  return out;
}

std::string SignedToken(const SigningKey& key, std::string_view algorithm, std::string_view header,
                        std::string_view payload) {
  const std::string text = Base64Url(header) + "." + Base64Url(payload);
  return text + "." + Base64Url(key.Sign(algorithm, text));
}

std::string SignedToken(const SigningKey& key, std::string_view algorithm,
                        const json::object& claims) {
  const json::object header = {{"alg", algorithm}, {"kid", key.kid()}, {"typ", "JWT"}};
  return SignedToken(key, algorithm, WriteJson(header), WriteJson(claims));
}

std::string HmacToken(std::string_view secret, std::string_view header, std::string_view payload) {
  const std::string text = Base64Url(header) + "." + Base64Url(payload);
  unsigned char out[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), out, &size);
  return text + "." + Base64Url({reinterpret_cast<const char*>(out), size});
}

std::string JwksOf(std::initializer_list<json::object> keys) {
  json::array list;
  for (const json::object& key : keys) list.push_back(key);
  return WriteJson(json::object{{"keys", list}});
}

}  // namespace muster::testing
