// YAML in, JSON values out (libyaml events, types resolved by the YAML 1.2 core rules as
// Kubernetes' clients do: `yes` and `on` are strings, 0123 is a decimal integer... see docs in
// yaml.cc).
//
// Pure functions, thread-safe. Aliases are expanded; all documents together are bounded as those of
// one request are (parse_budget.h), depth by limits::kJsonDepth; a key twice in one mapping is
// refused.
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

/// Either JSON (first non-blank byte is '{' or '[') or YAML. Documents of JSON too may be set apart
/// by lines that are "---".
Result<std::vector<json::value>> ParseDocuments(std::string_view text);

/// Block-style YAML of a value; strings are quoted where they would read as another type.
std::string WriteYaml(const json::value& value);

}  // namespace muster
