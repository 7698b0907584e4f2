// sbatch's options from its three sources: the command line, SBATCH_* variables and #SBATCH lines
// (rules B6, B12, B13). The table of the options and the checks of their values are the server's
// too: schedd/shapes/batch/sbatch_table.h, sbatch_words.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/settings.h"
#include "schedd/shapes/batch/sbatch_words.h"

namespace muster::slurm {

/// The options of one submission: fields of the REST form, and the options of the command itself by
/// their long names.
using SbatchOptions = shapes::SbatchRequest;

/// A refused option or script.
struct OptionError {
  /// Lines without the "sbatch: error: " in front. One that begins with "fatal: " or "plain: " is
  /// printed as "sbatch: fatal: ..." or as it is.
  std::string message;
  /// 255 for a bad option, 1 for what is refused.
  int exit = 255;
  /// getopt's own words: "sbatch: MESSAGE", and a pointer to --help.
  bool of_getopt = false;
};
OptionError FromProblem(const shapes::SbatchProblem& problem);

/// Applies `words`, those of a command line behind the command's name. `*operand` becomes the index
/// of the first word that is no option (the script); ":" between options begins the next component
/// of a heterogeneous job.
std::optional<OptionError> ApplyWords(const std::vector<std::string>& words, SbatchOptions* options,
                                      std::size_t* operand);
/// Applies the script's #SBATCH lines; refusals of a line begin with the script's `path`, if any.
std::optional<OptionError> ApplyDirectives(const std::string& script, const std::string& path,
                                          SbatchOptions* options);
/// Applies SBATCH_* variables. A variable whose option is refused is refused by its own name.
std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options);

/// Checks the options of one source that exclude each other. `of_environment` words the sentence.
std::optional<OptionError> CheckMemoryOptions(const SbatchOptions& options, bool of_environment);
/// Lays the options of a source over those of a lower one.
void OverlayOptions(SbatchOptions lower, SbatchOptions* higher);

/// The text of `sbatch --help`.
std::string_view SbatchHelp();

}  // namespace muster::slurm
