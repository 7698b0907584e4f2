// The spec of a BatchScript manifest, read and checked. Internal to schedd/shapes.
//
//   apiVersion: muster.io/v1, kind: BatchScript, metadata{...}, spec{script, jobName, command, ...}
//
// The fields are those of the REST form (README.md), except that `name` is called jobName and that
// the queue and the priority class are labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/batch/batch_amounts.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// A spec after reading.
struct BatchSpec {
  std::string job_name;              // --job-name, else the script's file name, else "sbatch"
  std::string work_dir;              // "": the pod's own
  std::string output, error, input;  // patterns as written; "" if not given
  std::string open_mode;             // append, truncate or ""
  std::string account, array_spec, comment, command;
  std::string features, required_nodes, excluded_nodes, licenses, reservation;
  std::string wckey, mail_user, submit_line, signal, umask;
  std::uint32_t mail_events = 0;
  WarningSignal warning;
  std::int64_t time_limit_s = 0, time_min_s = 0;
  bool requeue = true;
  bool allocation_only = false;
  BatchAmounts amounts;
  std::vector<BatchAmounts> components;  // of a heterogeneous job, beyond the first
  std::vector<std::string> component_names;  // of each of those; "" is named as the job
  std::vector<std::pair<std::string, std::string>> how;
  /// Options with a field of their own that no other detail of a job tells (--ntasks-per-core ...).
  std::vector<std::pair<std::string, std::string>> shown;
  std::string gres;   // "gpu:2" or "gpu:a100:2", as squeue shows it
  bool hold = false;  // --hold, or --priority=0
  BatchState state;   // with which the job begins
};

/// Checks every field; the paths of problems begin at spec.
BatchSpec ReadBatchSpec(const Field& spec);

/// The file of standard output before its pattern is expanded: the option, or Slurm's default if
/// the job has a working directory; "" if the output goes to the log only.
std::string OutputPattern(const BatchSpec& spec);

/// True for the name of an exported function of bash, "BASH_FUNC_module%%".
bool IsShellFunction(std::string_view name);

}  // namespace muster::shapes
