// Warnings about configuration objects that are accepted, as Kueue and Kubernetes accept them, but
// have no useful effect. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/config.h"

namespace muster::api {

/// Follows the parents of `cohort`. If they form a cycle, returns the path up to the first
/// repetition, "a -> b -> a"; "" if the chain ends.
std::string CohortCycle(const ConfigView& config, const std::string& cohort);

/// Warnings about one object of `config`: the cohorts of a ClusterQueue or Cohort form a cycle; a
/// Namespace has the audit label of Pod Security, which has no effect. Other kinds have none.
std::vector<std::string> ConfigWarnings(const ConfigView& config, ObjectKind kind,
                                        const std::string& name);

}  // namespace muster::api
