// sbatch's options: one table of names for the command line, SBATCH_* variables and #SBATCH
// directives (rules B6, B12, B13), checked as sbatch checks them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/lib/settings.h"

namespace muster::slurm {

/// What the user asked for; an absent option is nullopt or false. Texts are as written, already
/// checked.
struct SbatchOptions {
  std::optional<std::string> job_name, partition, account, qos, cluster, time, array, output, error,
      input, chdir;
  std::optional<std::string> export_list, comment, gres, gpus, memory_per_node, memory_per_cpu,
      wrap, open_mode;
  std::optional<std::int64_t> nodes, tasks, tasks_per_node, cpus_per_task, gpus_per_task;
  std::optional<bool> requeue;
  bool hold = false, wait = false, parsable = false, test_only = false, quiet = false;
  bool help = false, usage = false, version = false;
};

/// A refused option; `exit` is 255 for bad options and 1 for what this version does not support.
struct OptionError {
  std::string
      message;  // without the "sbatch: error: " prefix; empty if getopt_long has printed its own
  int exit = 255;
};

/// Applies argv[1..]; `*operand` gets the index of the first word that is no option (the script).
/// Directives must have no operand: the caller checks.
std::optional<OptionError> ApplyWords(int argc, char** argv, SbatchOptions* options, int* operand);
/// Applies SBATCH_* variables, over what the script asks for. One whose option is refused is
/// refused by its own name.
std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options);
/// What only the whole can tell: mutually exclusive memory options, gpus per task without tasks.
std::optional<OptionError> CheckTogether(const SbatchOptions& options);

/// The text of `sbatch --help`.
std::string_view SbatchHelp();

}  // namespace muster::slurm
