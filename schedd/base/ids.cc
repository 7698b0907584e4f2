// Uids: 128 random bits with the marks of a version-4 UUID, written and parsed in the usual form of
// 8-4-4-4-12 hexadecimal digits.
#include "schedd/base/ids.h"

#include <cstdio>

namespace muster {
namespace {

// The value of a hexadecimal digit of either case; -1 for any other character.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsDashPosition(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

Uid Uid::Make(Random& random) {
  Uid uid{random.Next(), random.Next()};
  // The version nibble says 4, the variant bits say RFC 4122.
  uid.hi = (uid.hi & ~0xF000ULL) | 0x4000ULL;
  uid.lo = (uid.lo & 0x3FFFFFFFFFFFFFFFULL) | 0x8000000000000000ULL;
  return uid;
}

bool Uid::Parse(std::string_view text, Uid* out) {
  if (text.size() != 36) return false;
  std::uint64_t words[2] = {0, 0};
  int digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsDashPosition(i)) {
      if (text[i] != '-') return false;
      continue;
    }
    const int value = HexValue(text[i]);
    if (value < 0) return false;
    auto& word = words[digits < 16 ? 0 : 1];
    word = (word << 4) | static_cast<std::uint64_t>(value);
    ++digits;
  }
  *out = {words[0], words[1]};
  return true;
}

std::string Uid::ToString() const {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%08x-%04x-%04x-%04x-%012llx",
                static_cast<unsigned>(hi >> 32), static_cast<unsigned>((hi >> 16) & 0xFFFF),
                static_cast<unsigned>(hi & 0xFFFF), static_cast<unsigned>(lo >> 48),
                static_cast<unsigned long long>(lo & 0xFFFFFFFFFFFFULL));
  return buffer;
}

}  // namespace muster
