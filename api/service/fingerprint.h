// Stable 64-bit fingerprints (FNV-1a). They are equal on every machine and in every version, so
// they may be stored. They are not for security: they tell whether a request repeats an earlier one
// with the same idempotency key.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedd/text/json.h"

namespace muster::api {

inline constexpr std::uint64_t kFingerprintStart = 0xcbf29ce484222325ULL;

/// Continues `state` with the bytes and their number, so that "ab", "c" differs from "a", "bc".
std::uint64_t AddFingerprint(std::uint64_t state, std::string_view bytes);
std::uint64_t AddFingerprint(std::uint64_t state, std::int64_t number);
/// The fingerprint of a JSON value. The order of an object's members does not matter.
std::uint64_t FingerprintOf(const json::value& value);

}  // namespace muster::api
