// `squeue --json`: the same document as slurmrestd's (rule B22, the form since v0.0.40).
#pragma once

#include <string>
#include <vector>

#include "clients/slurm/job_row.h"
#include "clients/slurm/squeue_fields.h"

namespace muster::slurm {

/// The whole document for these rows, in order.
std::string SqueueJson(const std::vector<const JobRow*>& rows, const RowContext& context);

}  // namespace muster::slurm
