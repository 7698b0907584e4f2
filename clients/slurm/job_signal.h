// Signals to jobs and their steps.
#pragma once

#include <cstdint>
#include <string>

#include "clients/lib/api_client.h"
#include "schedd/text/json.h"

namespace muster::slurm {

/// Sends a signal. `target`: "steps", "batch" (the shell of the script), "full" (all processes), or
/// "step" with the number `step`. A script runs before its start has become known, and the server
/// refuses its signals until then: for a job that has its nodes it is sent again for ten seconds,
/// and is then refused with status 425. 404 and 409 mean that the job has no processes any more.
client::Outcome<json::value> SendSignal(client::ApiClient& api, const std::string& id, int signal,
                                        const char* target, std::int64_t step = -1);

}  // namespace muster::slurm
