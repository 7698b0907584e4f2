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

/// The options of one submission; an absent option is nullopt or false. Texts are as the user wrote
/// them, already checked.
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

/// A refused option.
struct OptionError {
  /// Without the "sbatch: error: " in front; empty if getopt_long has printed a message.
  std::string message;
  /// 255 for a bad option, 1 for one that this version does not support.
  int exit = 255;
};

/// Applies argv[1..]. `*operand` becomes the index of the first word that is no option (the
/// script). Directives may have no operand, which the caller checks.
std::optional<OptionError> ApplyWords(int argc, char** argv, SbatchOptions* options, int* operand);
/// Applies SBATCH_* variables over the options of the script. A variable whose option is refused is
/// refused by its own name.
std::optional<OptionError> ApplyEnvironment(const client::EnvLookup& env, SbatchOptions* options);
/// Checks combinations of options: memory options that exclude each other, --gpus-per-task without
/// --ntasks.
std::optional<OptionError> CheckTogether(const SbatchOptions& options);

/// The text of `sbatch --help`.
std::string_view SbatchHelp();

}  // namespace muster::slurm
