// The spec of a BatchScript manifest, read and checked. Internal to schedd/shapes.
//
//   apiVersion: muster.io/v1, kind: BatchScript, metadata{...}, spec{script, jobName, command, ...}
//
// The fields are those of the REST form (README.md), `name` being called jobName and the queue and
// the priority class being labels.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/model/job.h"
#include "schedd/shapes/batch/batch_amounts.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

inline constexpr char kBatchApiVersion[] = "muster.io/v1";
inline constexpr char kBatchKind[] = "BatchScript";

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

/// Checks everything; problems carry paths below spec.
BatchSpec ReadBatchSpec(const Field& spec);

/// Where standard output goes, before patterns are filled in: the option, or Slurm's default if the
/// job has a working directory; "" if nowhere but the log.
std::string OutputPattern(const BatchSpec& spec);

/// Fills in %j, %A, %a, %x, %u, %N and their kin (rule B9).
std::string ExpandPattern(std::string_view pattern, const JobRecord& job);

/// SLURM_* of the job (rule B10), appended as {name, value} after the script's own variables.
json::array BatchEnvironment(const JobRecord& job, const json::object& spec, const BatchSpec& read);

}  // namespace muster::shapes
