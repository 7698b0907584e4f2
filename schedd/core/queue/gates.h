// Gates: conditions that keep a workload out of admission before any quota is looked at: stopped or
// missing queues, namespaces, configuration that refers to objects that do not exist (rules A19,
// A61). Pure.
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
  bool namespace_mismatch = false;  // the queue's namespaceSelector does not match
};

/// The gate of a whole ClusterQueue; nullopt if it admits.
std::optional<GateVerdict> QueueGate(const ConfigView& config, const AdmissionSettings& settings,
                                     const QuotaTree& tree, const std::string& cluster_queue);
/// True if the queue's namespaceSelector matches the labels of a namespace; a queue without a
/// selector matches none.
bool NamespaceMatches(const ConfigView& config, const ClusterQueue& queue, const std::string& ns);
/// The gate of one workload: its LocalQueue, its namespace, and the placement that an annotation
/// names for it. A workload with a closed gate is set aside even in a StrictFIFO queue, because
/// Kueue would not have it in the queue. Equal for all workloads of a class (workload_class.h).
std::optional<GateVerdict> JobGate(const ConfigView& config, const ClusterQueue& queue,
                                   const JobRecord& job);
/// True if the workload may not evict anybody yet: some preemption gate of it is closed (KEP-8303).
bool PreemptionIsGated(const JobRecord& job, const AdmissionSettings& settings);

}  // namespace muster::core
