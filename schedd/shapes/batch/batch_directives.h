// The #SBATCH lines of a script, split into words as sbatch splits them (rules B7, B8).
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"

namespace muster::shapes {

/// The words of all #SBATCH lines of a script, in order, split and unquoted by sbatch's rules
/// (rule B7). Errors: no `#!`, DOS line ends, a NUL, more than limits::kScriptBytes, an unmatched
/// quote (with the number of its line).
Result<std::vector<std::string>> DirectiveWords(std::string_view script);

}  // namespace muster::shapes
