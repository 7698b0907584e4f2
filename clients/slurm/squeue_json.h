// The documents of `squeue --json` and `scontrol show job --json` (rule B22).
#pragma once

#include <string>
#include <vector>

#include "clients/slurm/squeue_fields.h"

namespace muster::slurm {

/// The whole document, with a line end. `command` is who prints it.
std::string SqueueJson(const std::vector<const JobRow*>& rows, const RowContext& context,
                       const char* command);

}  // namespace muster::slurm
