// YAML in, JSON values out: libyaml's events, with types resolved by the YAML 1.2 core schema
// (yaml_scalar.h), by which `yes` and `on` are strings and 0123 is a decimal integer.
//
// Pure functions, thread-safe. Aliases are expanded; all documents together are bounded as those of
// one request are (parse_budget.h), depth by limits::kJsonDepth; a key that appears twice in one
// mapping is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster {

/// Every document of a stream; empty documents (comments only) are left out.
/// Errors name the document's number (from 1), line and column.
Result<std::vector<json::value>> ParseYaml(std::string_view text);
/// The same, within what is left of `budget`.
Result<std::vector<json::value>> ParseYaml(std::string_view text, ParseBudget* budget);

}  // namespace muster
