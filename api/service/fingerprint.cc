// FNV-1a over bytes and over JSON values. A JSON value is hashed by its content and not by its
// text, so white space and the order of members in a request do not matter: the hashes of an
// object's members are added up, and addition has no order.
#include "api/service/fingerprint.h"

#include <bit>

namespace muster::api {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3ULL;

// The start for a JSON value. Each JSON type has its own tag, so that "1" and 1 differ.
std::uint64_t Tagged(char tag) {
  return AddFingerprint(kFingerprintStart, std::string_view(&tag, 1));
}

}  // namespace

std::uint64_t AddFingerprint(std::uint64_t state, std::string_view bytes) {
  for (const char c : bytes) state = (state ^ static_cast<unsigned char>(c)) * kPrime;
  return AddFingerprint(state, static_cast<std::int64_t>(bytes.size()));
}

// The eight bytes of the number, the lowest first, on every machine.
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
      std::uint64_t members = 0;
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
