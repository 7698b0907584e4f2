// `#SBATCH` scripts: the directive parser and the shape they become (rules B2 to B10, B15).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// The words of every #SBATCH line of a script, in order, split and unquoted by sbatch's rules
/// (rule B7). Errors: no `#!`, DOS line ends, NUL, over limits::kScriptBytes, an unmatched
/// quote (with its line).
Result<std::vector<std::string>> DirectiveWords(std::string_view script);

/// The REST form {"script":..., "name":..., "queue":..., "resources":{...}, ...} as a BatchScript
/// manifest (apiVersion muster.io/v1) with the script's own directives applied below the explicit
/// fields. Which fields it takes is documented in schedd/shapes/README.md; unknown fields are
/// refused.
Result<json::value> BatchScriptManifest(const json::object& request, std::string_view ns);

/// "0-15,20:2%4" -> task ids in order. Errors on malformed text or more than limits::kBatchJobs
/// tasks.
Result<std::vector<std::int32_t>> ParseArraySpec(std::string_view spec);

}  // namespace muster::shapes
