// Appends JSON tokens to a text buffer: the building stones of the fast job view, beside
// AppendJsonString of schedd/text.
//
// Pure functions, thread-safe.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster::api {

/// "2026-11-21T10:00:00.123456Z" in quotes, or null if not set.
void AppendJsonTime(WallTime time, std::string* out);
/// "2026-11-21T10:00:00Z" in quotes, as conditions have it; "" in quotes if not set.
void AppendJsonSeconds(WallTime time, std::string* out);
/// A uid in quotes.
void AppendJsonUid(const Uid& uid, std::string* out);

inline void AppendJsonNumber(std::int64_t number, std::string* out) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number);
  out->append(digits, end.ptr);
}

}  // namespace muster::api
