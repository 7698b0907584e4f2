// What is taken of a configuration object but will not do what its writer wants. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/config.h"

namespace muster::api {

/// The cohorts from `cohort` upwards if they never end, "a -> b -> a"; "" if they end.
std::string CohortCycle(const ConfigView& config, const std::string& cohort);

/// Warnings about the object of this kind and name as it stands in `config`: a ClusterQueue or a
/// Cohort whose cohorts form a cycle, as Kueue takes them too.
std::vector<std::string> ConfigWarnings(const ConfigView& config, ObjectKind kind,
                                        const std::string& name);

}  // namespace muster::api
