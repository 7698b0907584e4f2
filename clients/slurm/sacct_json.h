// The document of `sacct --json`: slurmrestd's jobs of the database (rule B51).
#pragma once

#include <string>
#include <vector>

#include "clients/slurm/sacct_fields.h"

namespace muster::slurm {

/// The whole document, with a line end. Lines of steps follow the line of their job.
std::string SacctJson(const std::vector<SacctLine>& lines);

}  // namespace muster::slurm
