#include "schedd/text/request_digest.h"

#include <sodium/crypto_hash_sha256.h>

#include <array>

namespace muster {

std::string Sha256Hex(std::string_view bytes) {
  // libsodium's function needs no set-up and no tables: programs that start for each command use
  // it.
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size());
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

// The digest of the body comes last and has a fixed length, and neither a method nor a target can
// have a line feed: two different requests never give the same text.
std::string RequestDigest(std::string_view method, std::string_view target, std::string_view body) {
  std::string text(method);
  text += '\n';
  text += target;
  text += '\n';
  text += Sha256Hex(body);
  return Sha256Hex(text);
}

}  // namespace muster
