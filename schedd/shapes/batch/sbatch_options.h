// sbatch's options inside a script, as fields of the REST form (rules B4, B6). Internal to
// schedd/shapes.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/shapes/batch/sbatch_words.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// What the words of #SBATCH lines ask for: the fields of the REST form, further components behind
/// the words `hetjob` as its field `components`, and the options of the submitting command.
std::optional<SbatchProblem> ReadDirectiveWords(const std::vector<std::string>& words,
                                                SbatchRequest* out);

/// The fields alone; a later word wins. Errors: unknown and ambiguous options, missing values,
/// options that are refused by name (with what to do instead), leftover words.
Result<json::object> FieldsOfDirectives(const std::vector<std::string>& words);

}  // namespace muster::shapes
