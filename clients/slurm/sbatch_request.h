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
  std::string command;                 // the path as it was found; "" for stdin
  std::vector<std::string> arguments;  // of the script
};

/// Reads the script that `operands`, the words behind sbatch's options, name: a file (in the
/// working directory, then in PATH), or stdin if there is no operand or it is /dev/stdin. With
/// --wrap it makes a script of the command. Errors are sbatch's sentences.
std::optional<OptionError> ReadScript(const SbatchOptions& options,
                                      const std::vector<std::string>& operands, ScriptSource* out);

/// Where a request comes from and goes to.
struct SubmitPlace {
  std::string queue;        // "": the namespace's default
  std::string current_dir;  // in which sbatch runs
  std::string submit_line;  // the command line as typed
  const char* const* environment = nullptr;  // of sbatch, ending with null
};

/// Makes the request body of the options and the script: resolves times, the environment, limits.
std::optional<OptionError> BuildSubmission(const SbatchOptions& options, const ScriptSource& script,
                                           const SubmitPlace& place, json::object* body);

/// Sets `requiredNodes` to the nodes of a file, one or more on each line.
std::optional<OptionError> AddNodeFile(const std::string& path, json::object* out);

}  // namespace muster::slurm
