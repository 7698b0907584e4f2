// The environment of a batch script and the names of its output files (rules B9, B10).
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/batch/batch_spec.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// Replaces %j, %A, %a, %x, %u, %N and the other letters of sbatch's file names (rule B9).
std::string ExpandPattern(std::string_view pattern, const JobRecord& job);

/// The script's own variables and then SLURM_* of the job (rule B10), as {name, value} objects of a
/// container. `spec` is the manifest's spec and `read` the same after reading; `component` is the
/// one of a heterogeneous job to which the container belongs, else 0.
json::array BatchEnvironment(const JobRecord& job, const json::object& spec, const BatchSpec& read,
                             std::size_t component);

/// The host names of each component, the first one's first (rule B28).
std::vector<std::vector<std::string>> HostGroups(const JobRecord& job, const BatchSpec& read);

/// "72(x2),36": numbers of nodes, run-length coded.
std::string RunLengths(const std::vector<std::int64_t>& numbers);

}  // namespace muster::shapes
