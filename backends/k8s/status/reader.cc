// Reader and CleanText. All text of a member goes through CleanText before it is stored or shown,
// since a member may send anything; so its length is bounded and it cannot control a terminal.
#include "backends/k8s/status/reader.h"

#include <algorithm>
#include <charconv>

namespace muster::k8s {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The length of the UTF-8 character at the start of `text`; 0 if there is none (RFC 3629).
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : bytes;
}

}  // namespace

std::string CleanText(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    std::string_view piece = bytes == 0 ? kReplacement : text.substr(0, bytes);
    if (bytes == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7F)) piece = " ";
    if (out.size() + piece.size() > max_bytes) break;
    out += piece;
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

std::optional<std::int64_t> Reader::Integer() const {
  if (value_ == nullptr) return std::nullopt;
  if (value_->is_int64()) return value_->get_int64();
  // The parser gives a uint64 only for a number that does not fit into an int64.
  if (value_->is_uint64()) return INT64_MAX;
  return std::nullopt;
}

std::int32_t Reader::Count(std::int32_t otherwise) const {
  const auto number = Integer();
  if (!number) return otherwise;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(*number, 0, INT32_MAX));
}

WallTime Reader::Time() const {
  WallTime time;
  const std::string_view text = View();
  if (text.empty() || text.size() > 64 || !ParseRfc3339(std::string(text), &time)) return {};
  return time;
}

std::optional<std::int64_t> NumberIn(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace muster::k8s
