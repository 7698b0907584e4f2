// The spec of a BatchScript manifest, read and checked. Internal to schedd/shapes.
//
//   apiVersion: muster.io/v1, kind: BatchScript, metadata{...}, spec{script, jobName, command, ...}
//
// The fields are those of the REST form (README.md), except that `name` is called jobName and that
// the queue and the priority class are labels.
#pragma once

#include <cstdint>
#include <string>

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
  std::int64_t time_limit_s = 0;
  bool hold = false;
  bool requeue = true;
  BatchAmounts amounts;
  std::string gres;  // "gpu:2" as squeue shows it
};

/// Checks every field; the paths of problems begin at spec.
BatchSpec ReadBatchSpec(const Field& spec);

/// The file of standard output before its pattern is expanded: the option, or Slurm's default if
/// the job has a working directory; "" if the output goes to the log only.
std::string OutputPattern(const BatchSpec& spec);

}  // namespace muster::shapes
