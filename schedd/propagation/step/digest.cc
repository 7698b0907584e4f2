// SHA-256 through OpenSSL's EVP interface. Each text is preceded by its length, so that two lists
// of texts with the same concatenation have different digests.
#include "schedd/propagation/step/digest.h"

#include <openssl/evp.h>

#include <array>

#include "schedd/base/check.h"

namespace muster::propagation {
namespace {

constexpr std::size_t kBytesKept = 16;
constexpr char kHex[] = "0123456789abcdef";

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  MUSTER_CHECK(context_ != nullptr);
  MUSTER_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Digest::Add(std::string_view text) {
  const std::string length = std::to_string(text.size()) + ":";
  MUSTER_CHECK(EVP_DigestUpdate(context_.get(), length.data(), length.size()) == 1);
  MUSTER_CHECK(EVP_DigestUpdate(context_.get(), text.data(), text.size()) == 1);
}

std::string Digest::Hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  MUSTER_CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
  std::string hex;
  for (std::size_t i = 0; i < kBytesKept; ++i) {
    hex += kHex[bytes[i] >> 4];
    hex += kHex[bytes[i] & 15];
  }
  return hex;
}

std::string DigestOf(std::string_view text) {
  Digest digest;
  digest.Add(text);
  return digest.Hex();
}

}  // namespace muster::propagation
