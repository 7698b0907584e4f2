// Sends the jobs of a load at their arrival times: all jobs that are due in one jobs:batch request,
// over several connections, so that a slow answer does not delay the next arrivals.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/reference_loads.h"

namespace muster::bench {

struct SendResult {
  std::vector<double> lateness;  // of each job: seconds between its arrival time and its answer
};

/// Blocks until every request is answered. `begin` is the load's time zero on the steady clock, in
/// seconds. Errors: a request or a job in it is refused.
Result<SendResult> SendLoad(const ReferenceLoad& load, int port, double begin);

/// The time of the steady clock, in seconds.
double SteadySeconds();

}  // namespace muster::bench
