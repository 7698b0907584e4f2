// The spec of a batch/v1 Job, as a Job of its own and inside a JobSet: checked as the Kubernetes
// API does.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedd/shapes/parts/pod_template.h"

namespace muster::shapes {

struct JobSpecRules {
  std::string job_name = {};  // for the lengths of generated names; "" if not known yet
  RestartRule restart = RestartRule::kNeverOrOnFailure;
  bool indexed_by_default = false;  // JobSet's webhook fills in Indexed
};

struct JobSpecFacts {
  std::int32_t parallelism = 1;
  std::int32_t pods = 1;               // at once: min(parallelism, completions)
  std::int64_t active_deadline_s = 0;  // 0: none
};

/// Reads and checks a JobSpec without its template.
JobSpecFacts ReadJobSpec(const Field& spec, const JobSpecRules& rules);

/// podFailurePolicy, successPolicy, backoffLimitPerIndex and their interplay (job_policies.cc).
void CheckJobPolicies(const Field& spec, bool indexed, std::optional<std::int32_t> completions);

/// Removes what the API server generated (selector, controller labels) and the TTL; a foreign
/// managedBy too.
void CleanJobSpec(json::object& spec);

}  // namespace muster::shapes
