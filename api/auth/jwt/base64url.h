// Base64url without padding (RFC 4648, section 5), as the parts of a JSON web token are written.
//
// Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::auth {

/// The bytes; nullopt if the text has padding, white space, characters of the other alphabet, or is
/// not the one text that these bytes have: a token would otherwise have several spellings.
std::optional<std::string> DecodeBase64Url(std::string_view text);

}  // namespace muster::auth
