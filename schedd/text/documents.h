// ParseDocuments: a text that holds JSON documents, YAML documents or both. Pure functions,
// thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster {

/// Each document is JSON if its first byte that is not blank is '{' or '[', else YAML. JSON
/// documents too may be separated by lines that are "---".
Result<std::vector<json::value>> ParseDocuments(std::string_view text);
/// The same, within what is left of `budget`.
Result<std::vector<json::value>> ParseDocuments(std::string_view text, ParseBudget* budget);

}  // namespace muster
