// Base64 (RFC 4648, with padding): the values of a Secret and binaryData of a ConfigMap.
//
// Pure functions, thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

std::string EncodeBase64(std::string_view bytes);

/// The bytes; nullopt if the text is not base64. Line breaks in it are skipped, as in Go's decoder.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace muster
