// From a script and its options to the request that Muster takes (schedd/shapes/README.md, the
// `script` form).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/slurm/sbatch_options.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// Where the script comes from and what surrounds it.
struct ScriptSource {
  std::string text;                    // beginning with #!
  std::string name;                    // default job name
  std::string command;                 // as shown by squeue %o; "" for stdin
  std::vector<std::string> arguments;  // of the script
};

/// The words after sbatch's own options. Reads the file (the working directory, then PATH), stdin
/// when there is no operand or it is /dev/stdin, or wraps a command. Errors in sbatch's words.
std::optional<OptionError> ReadScript(const SbatchOptions& options,
                                      const std::vector<std::string>& operands, ScriptSource* out);

/// The environment that goes with the job, by --export (rule B11). Never MUSTER_TOKEN:
/// the job's manifest is stored and shown.
json::object ExportedEnvironment(const std::optional<std::string>& export_list,
                                 const char* const* environment);

/// The request body. `current_dir` is where sbatch runs.
json::object BuildSubmission(const SbatchOptions& options, const ScriptSource& script,
                             const std::string& queue, const std::string& current_dir,
                             const char* const* environment);

}  // namespace muster::slurm
