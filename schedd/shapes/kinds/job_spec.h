// The spec of a batch/v1 Job, alone and inside a JobSet: checked by the rules of the Kubernetes
// API.
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
  const char* default_restart = "Never";  // of the pods; JobSet's webhook fills in OnFailure
};

struct JobSpecFacts {
  std::int32_t parallelism = 1;
  std::int32_t completions = 1;  // 1 if absent
  bool indexed = false;
  std::int32_t pods = 1;               // at once: min(parallelism, completions)
  std::int64_t active_deadline_s = 0;  // 0: none
};

/// Reads and checks a JobSpec without its template.
JobSpecFacts ReadJobSpec(const Field& spec, const JobSpecRules& rules);

/// Checks podFailurePolicy, successPolicy and backoffLimitPerIndex, each and together
/// (job_policies.cc).
void CheckJobPolicies(const Field& spec, const JobSpecRules& rules, bool indexed,
                      std::optional<std::int32_t> completions);

/// Removes the fields that an API server generates (selector, controller labels), the TTL and
/// managedBy: on the member they would be wrong, or act against Muster.
void CleanJobSpec(json::object& spec);

}  // namespace muster::shapes
