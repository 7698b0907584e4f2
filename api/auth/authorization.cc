#include "api/auth/authorization.h"

#include <strings.h>

#include "schedd/text/request_digest.h"

namespace muster::auth {
namespace {

struct HeaderParts {
  std::string_view scheme, credentials;
};

HeaderParts PartsOf(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::size_t begin = text.find_first_not_of(' ', space);
  if (space == std::string_view::npos || begin == std::string_view::npos) return {text, {}};
  return {text.substr(0, space), text.substr(begin)};
}

}  // namespace

std::string_view Authorization::CredentialsOf(std::string_view scheme) const {
  const HeaderParts parts = PartsOf(text_);
  const bool same = parts.scheme.size() == scheme.size() &&
                    ::strncasecmp(parts.scheme.data(), scheme.data(), scheme.size()) == 0;
  return same ? parts.credentials : std::string_view();
}

const std::string& Authorization::Digest() const {
  if (digest_.empty()) digest_ = Sha256Hex(PartsOf(text_).credentials);
  return digest_;
}

}  // namespace muster::auth
