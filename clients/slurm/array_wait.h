// sbatch --wait for an array.
#pragma once

#include <cstdint>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/lib/job_view.h"

namespace muster::slurm {

/// True if the answer to a submission is the record of an array.
bool IsArrayAnswer(const json::value& answer);
/// Waits until no task of the array waits or runs. Returns all its records: one for each task that
/// started, and those of tasks that were cancelled while they waited.
client::Outcome<std::vector<client::JobView>> WaitForArray(client::ApiClient& api,
                                                           std::int64_t array);

}  // namespace muster::slurm
