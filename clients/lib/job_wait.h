// Waits until jobs satisfy a condition. The server's events say when to look; nothing is polled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "clients/lib/api_client.h"
#include "clients/lib/job_view.h"

namespace muster::client {

/// True when a job needs no further waiting.
using JobCondition = std::function<bool(const JobView&)>;

/// Returns the view of each job at the moment when `condition` became true for it, in the order of
/// `ids`. Opens a connection of its own for the events. Failures: those of the calls to the server;
/// kTimedOut at `deadline_ms` (0: none).
Outcome<std::vector<JobView>> WaitForJobs(ApiClient& api, const std::vector<std::int64_t>& ids,
                                          std::int64_t deadline_ms, const JobCondition& condition);

}  // namespace muster::client
