// Makes the request of a submission from a script and its options (schedd/shapes/README.md, the
// `script` form).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/slurm/sbatch_options.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// A script with its name and arguments.
struct ScriptSource {
  std::string text;                    // beginning with #!
  std::string name;                    // default job name
  std::string command;                 // the path that squeue %o shows; "" for stdin
  std::vector<std::string> arguments;  // of the script
};

/// Reads the script that `operands`, the words behind sbatch's options, name: a file (in the
/// working directory, then in PATH), or stdin if there is no operand or it is /dev/stdin. With
/// --wrap it makes a script of the command. Errors are sbatch's sentences.
std::optional<OptionError> ReadScript(const SbatchOptions& options,
                                      const std::vector<std::string>& operands, ScriptSource* out);

/// The variables that --export sends with the job (rule B11). MUSTER_TOKEN and SLURM_JWT are never
/// among them, because the job's manifest is stored and shown.
json::object ExportedEnvironment(const std::optional<std::string>& export_list,
                                 const char* const* environment);

/// The request body. `current_dir` is where sbatch runs.
json::object BuildSubmission(const SbatchOptions& options, const ScriptSource& script,
                             const std::string& queue, const std::string& current_dir,
                             const char* const* environment);

}  // namespace muster::slurm
