// The pod sets that a member's Kueue finds in a job, once the member's API server has filled in the
// defaults. A Workload that stands for the job must list the same pod sets. Pure.
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

/// `object` is of a kind that Muster dispatches. kInvalidArgument: it is of another kind, or cannot
/// be read.
Result<std::vector<MemberPodSet>> MemberPodSetsOf(json::value object);

}  // namespace muster::shapes
