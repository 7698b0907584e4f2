// Decodes UTF-8 by hand and replaces every character that could mislead a reader of a terminal.
//
// The decoder takes only well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing
// above U+10FFFF. A byte that begins no such character is escaped alone, and decoding goes on at
// the next byte, so that one bad byte never hides the text behind it.
#include "clients/lib/visible_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace muster::client {
namespace {

// A code point and the number of its bytes; 0 bytes if the text does not begin with well-formed
// UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character FirstOf(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 && lead < 0xF5   ? 4
                           : lead >= 0xE0 && lead < 0xF0 ? 3
                           : lead >= 0xC2 && lead < 0xE0 ? 2
                                                         : 0;
  if (size == 0 || text.size() < size) return {};
  std::uint32_t code = lead & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  // The smallest code point of each length: a smaller one is an overlong form.
  static constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[size] || code > 0x10FFFF || surrogate) return {};
  return {code, size};
}

// True for characters beyond ASCII that a terminal does not simply print: C1 controls, line and
// paragraph separators, marks that change the direction of reading (the "trojan source"
// characters), and the byte order mark.
bool Misleads(std::uint32_t code) {
  return (code >= 0x80 && code <= 0x9F) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

// A byte as `ls -b` writes it: "\377".
void AppendOctal(unsigned char byte, std::string* out) {
  char text[8];
  std::snprintf(text, sizeof(text), "\\%03o", static_cast<unsigned>(byte));
  *out += text;
}

void AppendControl(char c, LineEnds ends, std::string* out) {
  if (ends == LineEnds::kKept && (c == '\n' || c == '\t')) {
    out->push_back(c);
  } else if (c == '\n' || c == '\t' || c == '\r') {
    *out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
  } else {
    AppendOctal(static_cast<unsigned char>(c), out);
  }
}

}  // namespace

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Plain ASCII is the common case and is returned at once.
std::string VisibleText(std::string_view text, LineEnds ends) {
  if (IsPlain(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  while (!text.empty()) {
    const Character next = FirstOf(text);
    if (next.bytes == 0) {
      AppendOctal(static_cast<unsigned char>(text[0]), &out);
    } else if (next.code < 0x20 || next.code == 0x7F) {
      AppendControl(text[0], ends, &out);
    } else if (Misleads(next.code)) {
      char escape[16];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(next.code));
      out += escape;
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return out;
}

}  // namespace muster::client
