// Appends JSON tokens to a text buffer, for the fast job view; AppendJsonString is in schedd/text.
// Pure functions, thread-safe.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster::api {

/// "2026-11-21T10:00:00.123456Z" in quotes; null if `time` is unset.
void AppendJsonTime(WallTime time, std::string* out);
/// "2026-11-21T10:00:00Z" in quotes, the form of conditions; "" in quotes if `time` is unset.
void AppendJsonSeconds(WallTime time, std::string* out);
/// A uid in quotes.
void AppendJsonUid(const Uid& uid, std::string* out);

inline void AppendJsonNumber(std::int64_t number, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out->append(digits, end.ptr);
}

}  // namespace muster::api
