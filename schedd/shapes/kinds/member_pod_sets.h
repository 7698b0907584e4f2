// The pod sets that Kueue finds in a job as its API server has completed it: what a Workload must
// say that is to stand for the job. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/text/json.h"

namespace muster::shapes {

struct MemberPodSet {
  std::string name;
  std::int32_t count = 0;
  json::value pod_template;
};

/// `object` is of a kind that Muster dispatches. kInvalidArgument: it is none, or cannot be read.
Result<std::vector<MemberPodSet>> MemberPodSetsOf(json::value object);

}  // namespace muster::shapes
