// sbatch's options inside a script, as fields of the REST form (rules B4, B6). Internal to
// schedd/shapes.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// The fields that the words of #SBATCH lines set; a later word wins. Errors: unknown and ambiguous
/// options, missing values, options of Slurm that this version does not have (named, with what to
/// do instead), leftover words.
Result<json::object> FieldsOfDirectives(const std::vector<std::string>& words);

}  // namespace muster::shapes
