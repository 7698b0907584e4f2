// Event: a committed, numbered state change.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster {

struct Event {
  /// The number; strictly growing in commit order.
  std::int64_t seq = 0;
  WallTime time;
  std::string type;  // JobAccepted, JobAdmitted, JobStarted, ..., ObjectApplied, ObjectDeleted
  /// 0 for events of objects.
  JobId job;
  std::string object;  // "clusterqueue/team-a" or "job/default/train"
  std::string reason, message;
};

}  // namespace muster
