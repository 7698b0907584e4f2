// Sealer: encrypts texts so that only a holder of the key file can read them, and nobody can change
// them or move them to another object unnoticed.
//
// XChaCha20-Poly1305 with a random nonce of 24 bytes (libsodium's documentation,
// "XChaCha20-Poly1305-IETF construction"). Immutable; thread-safe.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster::seal {

constexpr std::size_t kKeyBytes = 32;

struct Key {
  std::array<unsigned char, kKeyBytes> bytes{};
  /// Eight hexadecimal digits of the key's hash: says which key a text was sealed with.
  std::string id;
};

/// The key of these bytes, with its id.
Key MakeKey(const std::array<unsigned char, kKeyBytes>& bytes);

class Sealer {
 public:
  /// The first key seals; the others only open. At least one.
  explicit Sealer(std::vector<Key> keys);

  /// A JSON text that holds the sealed form of `text`. `belongs_to` names the object; the text
  /// opens under the same name only.
  std::string Seal(std::string_view text, std::string_view belongs_to) const;
  /// True for a text that Seal has made, with whatever key.
  static bool IsSealed(std::string_view text);
  /// True for a text that the current key has sealed.
  bool IsCurrent(std::string_view text) const;
  /// The text that was sealed. kFailedPrecondition: no key of the file opens it, or it was sealed
  /// for another object.
  Result<std::string> Open(std::string_view sealed, std::string_view belongs_to) const;

 private:
  const std::vector<Key> keys_;
};

}  // namespace muster::seal
