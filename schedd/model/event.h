// Event: a committed, numbered state change.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster {

struct Event {
  std::int64_t seq = 0;  // the number; strictly growing in commit order
  WallTime time;
  std::string type;    // JobAccepted, JobAdmitted, JobStarted, ..., ObjectApplied, ObjectDeleted
  JobId job;           // 0 for objects
  std::string object;  // "clusterqueue/team-a" or "job/default/train"
  std::string reason, message;
};

}  // namespace muster
