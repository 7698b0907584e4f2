// LoadSender: sends jobs at their arrival times, as jobs:batch requests of all that is due, over a
// few connections, so that a slow answer does not hold up the next arrivals.
#pragma once

#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "tests/bench/reference_loads.h"

namespace muster::bench {

struct SendResult {
  std::vector<double> lateness;  // of each job: answered that long after its arrival time, seconds
};

/// Blocks until everything is answered. `begin` is the load's time zero on the steady clock, in
/// seconds. Errors: a request, or one job of it, is refused.
Result<SendResult> SendLoad(const ReferenceLoad& load, int port, double begin);

/// The steady clock, in seconds.
double SteadySeconds();

}  // namespace muster::bench
