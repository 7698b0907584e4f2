#include "schedd/text/request_digest.h"

#include <openssl/sha.h>

#include <array>

namespace muster {

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
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
