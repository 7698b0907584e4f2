// The environment that goes along with a job: variables, umask and soft limits (rule B11).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "clients/slurm/sbatch_options.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// The variables that --export sends with the job. MUSTER_TOKEN and SLURM_JWT are never among them,
/// because the job's manifest is stored and shown. `environment` is a list of NAME=VALUE that ends
/// with null.
json::object ExportedEnvironment(const std::optional<std::string>& export_list,
                                 const char* const* environment);

/// A command line as typed, with the values of tokens ("--export=MUSTER_TOKEN=x") left out: it is
/// stored and shown with the job.
std::string WithoutTokenValues(std::string line);

/// The variables of the job by --export, --export-file and --get-user-env.
std::optional<OptionError> JobEnvironment(const SbatchOptions& options,
                                          const char* const* environment, json::object* out);

/// What --get-user-env and --export=NONE ask for: the variables that a login shell of the caller
/// sets, within `seconds`. Nothing if it fails or takes longer.
std::optional<json::object> LoginEnvironment(int seconds);

/// The soft limits that --propagate names ("ALL", "NOFILE,CORE", "NONE"), by name; -1: unlimited.
std::optional<OptionError> PropagatedLimits(std::string_view names, json::object* out);

/// The umask of this process, "0022".
std::string CurrentUmask();

}  // namespace muster::slurm
