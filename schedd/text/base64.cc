#include "schedd/text/base64.h"

#include <cstdint>

namespace muster {
namespace {

// The alphabet of RFC 4648, section 4.
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    // Three bytes make four digits; a last group of n bytes makes n + 1 digits and padding.
    const std::size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out.push_back(k <= n ? kAlphabet[(group >> (18 - 6 * k)) & 63] : '=');
    }
  }
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      ++padding;
    } else if (padding > 0) {
      return std::nullopt;
    }
    const std::size_t value = c == '=' ? 0 : kAlphabet.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    group = (group << 6) | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    for (int k = 0; k < 3; ++k) out.push_back(static_cast<char>((group >> (16 - 8 * k)) & 255));
    group = 0;
    digits = 0;
  }
  // Each padding digit stands for a byte that is not there.
  if (digits != 0 || padding > 2) return std::nullopt;
  for (; padding > 0; --padding) out.pop_back();
  return out;
}

}  // namespace muster
