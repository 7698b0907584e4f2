// SHA-256, and the digest that binds a munge credential to one request (rule U55).
//
// Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The SHA-256 of the bytes as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

/// What the payload of a munge credential must be: the SHA-256 in hexadecimal digits of METHOD,
/// line feed, TARGET, line feed and the SHA-256 in hexadecimal digits of the body. The target is
/// the path with its query as it stands in the request line.
std::string RequestDigest(std::string_view method, std::string_view target, std::string_view body);

}  // namespace muster
