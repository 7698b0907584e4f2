// Flavor assignment of one workload against the usage so far (kueue.md 2.6; no preemption yet).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/quota_tree.h"
#include "schedd/model/config.h"
#include "schedd/model/reason.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// One flavor tried for one resource of one pod set, for `explain`.
struct FlavorVerdict {
  std::string pod_set, flavor, resource;  // resource "" when the flavor itself does not match
  Reason reason = Reason::kNone;
  std::string message;
  std::int64_t requested = 0, available = 0, potential = 0, used = 0, nominal = 0;
};

struct Assignment {
  bool fits = false;
  AdmissionPtr admission;               // set if it fits
  std::int32_t borrowing_level = 0;     // max over its pairs
  Reason reason = Reason::kNone;        // if it does not fit
  std::string message;                  // kueue.md 2.6 "Message"
  std::vector<FlavorVerdict> verdicts;  // filled only if asked for
};

Assignment AssignFlavors(const ConfigView& config, const Usage& usage, const ClusterQueue& queue,
                         const PodSets& pod_sets, bool want_verdicts);

}  // namespace muster::core
