#include "schedd/model/plain_text.h"

#include <algorithm>
#include <string_view>

namespace muster {
namespace {

// How many bytes the UTF-8 character at the front of `text` has; 0 if it is none, or a control
// character.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond Unicode.
  if (byte(0) == 0xe0 && byte(1) < 0xa0) return 0;
  if (byte(0) == 0xed && byte(1) > 0x9f) return 0;
  if (byte(0) == 0xf0 && byte(1) < 0x90) return 0;
  if (byte(0) == 0xf4 && byte(1) > 0x8f) return 0;
  return bytes;
}

}  // namespace

void BoundText(std::string* text, std::size_t most) {
  // The usual case costs no copy: rows are written for every submission.
  const bool plain =
      std::all_of(text->begin(), text->end(), [](char c) { return c >= 0x20 && c != 0x7f; });
  if (plain && text->size() <= most) return;
  std::string clean;
  std::string_view left = *text;
  while (!left.empty()) {
    const std::size_t bytes = CharacterBytes(left);
    if (clean.size() + std::max<std::size_t>(bytes, 1) > most) break;
    clean += bytes == 0 ? std::string_view("?") : left.substr(0, bytes);
    left.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  *text = std::move(clean);
}

}  // namespace muster
