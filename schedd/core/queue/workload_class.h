// Workload classes: a key that is equal for workloads which no admission rule can tell apart inside
// one ClusterQueue (rule A14, here the exact content instead of a hash).
// Pure.
#pragma once

#include <string>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Appends what Kueue's scheduling hash covers: effective priority, flavors allowed, pods given
/// back and pod sets; the slice that it replaces; and what decides between member clusters: the
/// placement that governs the job, what it says itself, its kind. Equal text in one ClusterQueue:
/// when one does not fit, none that has waited no longer does. It changes with the placements of
/// `config` (PendingQueues::Configure).
void AppendSchedulingKey(const ConfigView& config, const JobRecord& job,
                         const AdmissionSettings& settings, std::string* key);

/// Appends namespace and LocalQueue, then the scheduling key. The ClusterQueue is not part of it.
void AppendClassKey(const ConfigView& config, const JobRecord& job,
                    const AdmissionSettings& settings, std::string* key);

}  // namespace muster::core
