// Stable 64-bit fingerprints (FNV-1a): equal on every machine and in every version, so they may be
// stored. Not for security: they tell a repeated request from another one under the same key.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedd/text/json.h"

namespace muster::api {

inline constexpr std::uint64_t kFingerprintStart = 0xcbf29ce484222325ULL;

/// Continues `state` with bytes and their number.
std::uint64_t AddFingerprint(std::uint64_t state, std::string_view bytes);
std::uint64_t AddFingerprint(std::uint64_t state, std::int64_t number);
/// Of a JSON value; the order of an object's members does not matter.
std::uint64_t FingerprintOf(const json::value& value);

}  // namespace muster::api
