// Strict JSON in, compact JSON out (Boost.JSON): depth bounded, duplicate keys refused, UTF-8
// checked.
//
// Pure functions, thread-safe.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster {

namespace json = boost::json;

/// Parses one JSON document. Refuses: syntax errors (with line and column), depth over
/// limits::kJsonDepth, a key twice in one object (named with its path), trailing bytes, NUL in a
/// string.
Result<json::value> ParseJson(std::string_view text);

/// Compact text of a value; members stay in their order.
std::string WriteJson(const json::value& value);

/// Appends a quoted and escaped string. `text` is UTF-8 (everything that ParseJson took is).
void AppendJsonString(std::string_view text, std::string* out);

/// Indented text (two spaces), for people.
std::string WriteJsonPretty(const json::value& value);

}  // namespace muster
