#include "schedd/core/gates.h"

#include <set>

namespace muster::core {
namespace {

constexpr const char* kNamespaceNameLabel = "kubernetes.io/metadata.name";
constexpr const char* kDefaultNamespace = "default";  // exists in every Kubernetes cluster

std::string MissingFlavors(const ConfigView& config, const ClusterQueue& queue) {
  std::set<std::string> missing;
  for (const auto& group : queue.resource_groups) {
    for (const auto& flavor : group.flavors) {
      if (!config.flavors.contains(flavor.flavor)) missing.insert(flavor.flavor);
    }
  }
  std::string text;
  for (const auto& name : missing) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

std::optional<GateVerdict> QueueGate(const ConfigView& config, const QuotaTree& tree,
                                     const std::string& cluster_queue) {
  const auto found = config.cluster_queues.find(cluster_queue);
  const NodeIndex node = tree.ClusterQueueIndex(cluster_queue);
  if (found == config.cluster_queues.end() || node < 0) {
    return GateVerdict{Reason::kMisconfigured, "ClusterQueue " + cluster_queue + " doesn't exist"};
  }
  const std::string inactive = "ClusterQueue " + cluster_queue + " is inactive: ";
  if (found->second.stop_policy != StopPolicy::kNone) {
    return GateVerdict{Reason::kSuspended, "ClusterQueue " + cluster_queue + " is stopped"};
  }
  if (const auto missing = MissingFlavors(config, found->second); !missing.empty()) {
    return GateVerdict{Reason::kSuspended,
                       inactive + "references missing ResourceFlavor(s): " + missing};
  }
  if (tree.node(node).in_cycle) {
    return GateVerdict{Reason::kSuspended, inactive + "its cohorts form a cycle"};
  }
  return std::nullopt;
}

bool NamespaceMatches(const ConfigView& config, const ClusterQueue& queue, const std::string& ns) {
  if (!queue.namespace_selector) return false;
  const LabelSelector& selector = *queue.namespace_selector;
  if (selector.match_labels.empty() && selector.match_expressions.empty()) return true;
  const auto space = config.namespaces.find(ns);
  LabelMap labels = space == config.namespaces.end() ? LabelMap{} : space->second.labels;
  labels.emplace(kNamespaceNameLabel, ns);  // as Kubernetes sets it
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
  return std::nullopt;
}

}  // namespace muster::core
