#include "api/auth/jwt/base64url.h"

#include "schedd/text/base64.h"

namespace muster::auth {

// By way of the other alphabet. Encoding the bytes again shows bits that were lost at the end.
std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string standard(text);
  for (char& c : standard) {
    if (c == '+' || c == '/' || c == '=' || c == '\n' || c == '\r') return std::nullopt;
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  standard.append((4 - standard.size() % 4) % 4, '=');
  std::optional<std::string> bytes = DecodeBase64(standard);
  if (!bytes || EncodeBase64(*bytes) != standard) return std::nullopt;
  return bytes;
}

}  // namespace muster::auth
