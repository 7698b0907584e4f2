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

class ParseBudget;

/// Parses one JSON document. Refuses: syntax errors (with line and column), depth over
/// limits::kJsonDepth, a key that is given twice in one object (named with its path), trailing
/// bytes, NUL in a string, integers beyond 64 bits.
Result<json::value> ParseJson(std::string_view text);
/// The same, within what is left of `budget` (null: no bound but depth).
Result<json::value> ParseJson(std::string_view text, ParseBudget* budget);

/// Compact text of a value; members keep their order.
std::string WriteJson(const json::value& value);

/// Appends a quoted and escaped string. `text` must be UTF-8, as all text from ParseJson is.
void AppendJsonString(std::string_view text, std::string* out);

/// Indented text (two spaces), for people.
std::string WriteJsonPretty(const json::value& value);

}  // namespace muster
