// squeue -s: the steps of running jobs (rule B21).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/slurm/attempts.h"
#include "clients/slurm/squeue_fields.h"
#include "clients/slurm/squeue_options.h"

namespace muster::slurm {

/// As SqueueFieldByLetter and SqueueFieldByName, for the fields of steps.
std::optional<std::size_t> StepFieldByLetter(char letter);
std::optional<std::size_t> StepFieldByName(std::string_view name);

/// Prints a line for the batch step of each script among the rows, and for each running step.
/// `specs` with a step choose some of them. Returns the text of a failure, or "".
client::Outcome<Done> PrintSteps(client::ApiClient& api, const SqueueOptions& options,
                                 const std::vector<const JobRow*>& rows, const RowContext& context);

}  // namespace muster::slurm
