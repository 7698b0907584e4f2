// Text that a member wrote is copied character by character. A character is kept if it is valid
// UTF-8 (no overlong form, no surrogate, nothing above U+10FFFF) and no control character but line
// end and tab; any other byte becomes '?'. So the text can be stored in PostgreSQL, sent as JSON
// and shown on a terminal.
#include "schedd/propagation/clean_text.h"

#include <cstdint>

#include "schedd/base/limits.h"

namespace muster::propagation {
namespace {

constexpr std::size_t kUidBytes = 256;

// True if there is a UTF-8 continuation byte at `at`.
bool Continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// The length of the UTF-8 character at `at`; 0 if the byte begins no valid character, or one that
// may not be shown.
std::size_t CharacterAt(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return (first >= 0x20 && first != 0x7f) || first == '\n' || first == '\t';
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!Continues(text, at + i)) return 0;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

}  // namespace

std::string CleanText(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = CharacterAt(text, at);
    if (out.size() + (length == 0 ? 1 : length) > most) return out + "...";
    if (length == 0) {
      out += '?';
      ++at;
    } else {
      out.append(text.substr(at, length));
      at += length;
    }
  }
  return out;
}

void CleanTexts(ManifestStatus* status) {
  // A backend that has cut a value says so at its end: the limit here leaves room for that note.
  constexpr std::size_t kValueBytes = limits::kDifferenceBytes + 64;
  status->message = CleanText(status->message, kWaitsBytes);
  status->remote_uid = CleanText(status->remote_uid, kUidBytes);
  for (Difference& difference : status->differences) {
    difference.path = CleanText(difference.path, kWaitsBytes);
    for (auto* value : {&difference.in_member, &difference.in_hub}) {
      if (value->has_value()) *value = CleanText(**value, kValueBytes);
    }
  }
}

}  // namespace muster::propagation
