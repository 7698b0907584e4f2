// What simulated users submit, as text, read by the product's own parsers.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/world/command.h"

namespace muster::sim {

enum class JobKind { kJob, kGang, kScript, kArray };

/// What one user wants. All amounts in CPUs and milliseconds of virtual time.
struct JobPlan {
  std::int64_t at_ms = 0;
  JobKind kind = JobKind::kJob;
  std::string name;
  int queue = 0;
  std::int32_t priority = 0;
  std::int32_t pods = 1;
  bool held = false;
  std::int32_t tasks = 1, throttle = 0;  // of an array
  int after = -1;                        // a script that depends on this job of the plan
  bool after_ok = false;
  std::int64_t time_limit_s = 0;
};

/// The submission of one try; its uid differs from try to try, as the service's does. `parent`: the
/// id of the job that it depends on, or 0.
Submission SubmissionOf(const JobPlan& plan, int tries, JobId parent);

}  // namespace muster::sim
