// Gates: what keeps a workload out of admission before any quota is looked at: stopped or missing
// queues, namespaces, configuration that refers to what is not there (rules A19, A61).
// Pure.
#pragma once

#include <optional>
#include <string>

#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Why a gate is closed.
struct GateVerdict {
  Reason reason = Reason::kNone;
  std::string message;
  bool namespace_mismatch = false;  // the queue's namespaceSelector says no
};

/// The gate of a whole ClusterQueue; nullopt if it admits.
std::optional<GateVerdict> QueueGate(const ConfigView& config, const AdmissionSettings& settings,
                                     const QuotaTree& tree, const std::string& cluster_queue);
/// True if the queue's namespaceSelector matches the labels of a namespace; a queue without
/// selector matches none.
bool NamespaceMatches(const ConfigView& config, const ClusterQueue& queue, const std::string& ns);
/// The gate of one workload: its LocalQueue and namespace, and the placement that an annotation
/// names for it. Such workloads are set aside even in a StrictFIFO queue: they could not enter
/// Kueue's. Equal for all workloads of a class (workload_class.h).
std::optional<GateVerdict> JobGate(const ConfigView& config, const ClusterQueue& queue,
                                   const JobRecord& job);
/// True if the workload may not evict anybody yet (KEP-8303): some gate of it is closed.
bool PreemptionIsGated(const JobRecord& job, const AdmissionSettings& settings);

}  // namespace muster::core
