#include "api/service/fingerprint.h"

#include <bit>

namespace muster::api {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

/// Kinds get different starting bytes, so that "1" and 1 differ.
std::uint64_t Tagged(char tag) {
  return AddFingerprint(kFingerprintStart, std::string_view(&tag, 1));
}

}  // namespace

std::uint64_t AddFingerprint(std::uint64_t state, std::string_view bytes) {
  for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * kPrime;
  return AddFingerprint(state, static_cast<std::int64_t>(bytes.size()));
}

std::uint64_t AddFingerprint(std::uint64_t state, std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(number);
  for (int i = 0; i < 8; ++i) {
    state = (state ^ (rest & 0xff)) * kPrime;
    rest >>= 8;
  }
  return state;
}

std::uint64_t FingerprintOf(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return Tagged('n');
    case json::kind::bool_:
      return AddFingerprint(Tagged('b'), std::int64_t{value.get_bool()});
    case json::kind::int64:
      return AddFingerprint(Tagged('i'), value.get_int64());
    case json::kind::uint64:
      return AddFingerprint(Tagged('i'), static_cast<std::int64_t>(value.get_uint64()));
    case json::kind::double_:
      return AddFingerprint(Tagged('d'), std::bit_cast<std::int64_t>(value.get_double()));
    case json::kind::string:
      return AddFingerprint(Tagged('s'), std::string_view(value.get_string()));
    case json::kind::array: {
      std::uint64_t state = Tagged('a');
      for (const json::value& item : value.get_array()) {
        state = AddFingerprint(state, static_cast<std::int64_t>(FingerprintOf(item)));
      }
      return state;
    }
    case json::kind::object: {
      std::uint64_t members = 0;  // a sum: independent of their order
      for (const auto& member : value.get_object()) {
        members += AddFingerprint(AddFingerprint(Tagged('m'), std::string_view(member.key())),
                                  static_cast<std::int64_t>(FingerprintOf(member.value())));
      }
      return AddFingerprint(Tagged('o'), static_cast<std::int64_t>(members));
    }
  }
  return 0;
}

}  // namespace muster::api
