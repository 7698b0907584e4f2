// Workload classes: a key that is equal for workloads which no admission rule can tell apart inside
// one ClusterQueue (kueue.md 2.3 "Scheduling hash", here the exact content instead of a hash).
// Pure.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster::core {

/// Appends the content of pod sets that any admission or placement rule reads. Equal text, equal
/// verdicts.
void AppendPodSetsKey(const PodSets& pod_sets, std::string* key);

/// Appends priority, namespace, LocalQueue and pod sets. The ClusterQueue is not part of it.
void AppendClassKey(const JobRecord& job, std::string* key);

}  // namespace muster::core
