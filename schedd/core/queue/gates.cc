// The gates before quota (rule A19), in Kueue's words, the first one that applies:
//
// 1. QueueGate: the ClusterQueue exists, is not stopped, and is active (rule A61).
// 2. JobGate: the LocalQueue exists and is not stopped; the namespace exists and matches the
//    queue's selector; a placement that an annotation names exists (rule P1; Muster's own).
//
// The cycle adds the gates of the workload's own record: admission checks and resource problems.
#include "schedd/core/queue/gates.h"

#include <algorithm>

#include "schedd/core/member/placement_ask.h"
#include "schedd/core/quota/queue_status.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr const char* kNamespaceMetadataLabel = "kubernetes.io/metadata.name";
constexpr const char* kDefaultNamespace = "default";  // exists in every Kubernetes cluster

constexpr std::string_view kCannotAdmit = "Can't admit new workloads: ";

}  // namespace

std::optional<GateVerdict> QueueGate(const ConfigView& config, const AdmissionSettings& settings,
                                     const QuotaTree& tree, const std::string& cluster_queue) {
  const auto found = config.cluster_queues.find(cluster_queue);
  const NodeIndex node = tree.ClusterQueueIndex(cluster_queue);
  if (found == config.cluster_queues.end() || node < 0) {
    return GateVerdict{Reason::kMisconfigured, "ClusterQueue " + cluster_queue + " doesn't exist"};
  }
  if (found->second.stop_policy != StopPolicy::kNone) {
    return GateVerdict{Reason::kSuspended, "ClusterQueue " + cluster_queue + " is stopped"};
  }
  const Readiness readiness = ReadinessOf(config, settings, tree, found->second, false);
  if (!readiness.active) {
    std::string_view why = readiness.message;
    if (why.starts_with(kCannotAdmit)) why.remove_prefix(kCannotAdmit.size());
    if (why.ends_with('.')) why.remove_suffix(1);
    return GateVerdict{Reason::kSuspended,
                       "ClusterQueue " + cluster_queue + " is inactive: " + std::string(why)};
  }
  return std::nullopt;
}

// An empty selector matches all namespaces, as in Kubernetes; no selector matches none.
bool NamespaceMatches(const ConfigView& config, const ClusterQueue& queue, const std::string& ns) {
  if (!queue.namespace_selector) return false;
  const LabelSelector& selector = *queue.namespace_selector;
  if (selector.match_labels.empty() && selector.match_expressions.empty()) return true;
  const auto space = config.namespaces.find(ns);
  LabelMap labels = space == config.namespaces.end() ? LabelMap{} : space->second.labels;
  // Kubernetes sets this label on every namespace.
  labels.emplace(kNamespaceMetadataLabel, ns);
  return Matches(selector, labels);
}

std::optional<GateVerdict> JobGate(const ConfigView& config, const ClusterQueue& queue,
                                   const JobRecord& job) {
  const auto local = config.local_queues.find({job.ns, job.local_queue});
  if (local == config.local_queues.end()) {
    return GateVerdict{Reason::kMisconfigured, "LocalQueue " + job.local_queue + " doesn't exist"};
  }
  if (local->second.stop_policy != StopPolicy::kNone) {
    return GateVerdict{Reason::kSuspended, "LocalQueue " + job.local_queue + " is inactive"};
  }
  const auto space = config.namespaces.find(job.ns);
  if (space == config.namespaces.end() && job.ns != kDefaultNamespace) {
    return GateVerdict{Reason::kMisconfigured,
                       "workload namespace \"" + job.ns + "\" does not exist"};
  }
  if (!NamespaceMatches(config, queue, job.ns)) {
    return GateVerdict{Reason::kMisconfigured,
                       "workload namespace doesn't match ClusterQueue selector", true};
  }
  std::string obstacle;
  GoverningPlacement(config, job, &obstacle);
  if (!obstacle.empty()) return GateVerdict{Reason::kMisconfigured, std::move(obstacle)};
  return std::nullopt;
}

bool PreemptionIsGated(const JobRecord& job, const AdmissionSettings& settings) {
  const auto& gates = StateOf(job).preemption_gates;
  if (gates.empty()) return false;
  const bool all = settings.orchestrated_preemption || settings.concurrent_admission;
  return std::any_of(gates.begin(), gates.end(), [&](const PreemptionGate& gate) {
    return !gate.open && (all || gate.kind == PreemptionGateKind::kOfPartition);
  });
}

}  // namespace muster::core
