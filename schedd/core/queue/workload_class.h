// Workload classes: a key that is equal for workloads which no admission rule can tell apart inside
// one ClusterQueue (rule A14). The key has the exact content, where Kueue has a hash. Pure.
#pragma once

#include <string>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Appends what Kueue's scheduling hash covers (effective priority, allowed flavors, reclaimable
/// pods, pod sets), the slice that the job replaces, and what decides between member clusters: the
/// placement that governs the job, its own placement annotations, its kind. If one of two workloads
/// with equal keys in one ClusterQueue does not fit, the other does not either. The key depends on
/// the placements of `config` (PendingQueues::Configure).
void AppendSchedulingKey(const ConfigView& config, const JobRecord& job,
                         const AdmissionSettings& settings, std::string* key);

/// Appends namespace and LocalQueue, then the scheduling key. The ClusterQueue is not part of it.
void AppendClassKey(const ConfigView& config, const JobRecord& job,
                    const AdmissionSettings& settings, std::string* key);

}  // namespace muster::core
