// Authorization: the Authorization header of a request.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace muster::auth {

/// The text of the header, or of gRPC's metadata; "" if the request has none. It keeps the digest
/// of its credentials once somebody has asked for it, because a request is asked about twice:
/// whether finding out who sends it may block, and who does. Not thread-safe, also to read.
class Authorization {
 public:
  Authorization() = default;
  Authorization(std::string text) : text_(std::move(text)) {}  // NOLINT: implicit by intent
  Authorization(const char* text) : text_(text) {}             // NOLINT: implicit by intent

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  /// What follows the scheme and its spaces, if the header is of this scheme; else "". The case of
  /// a scheme does not count (RFC 9110, section 11.1).
  std::string_view CredentialsOf(std::string_view scheme) const;
  /// The SHA-256 of what follows the scheme and its spaces, in hexadecimal.
  const std::string& Digest() const;

 private:
  std::string text_;
  mutable std::string digest_;  // "" until somebody asks
};

}  // namespace muster::auth
