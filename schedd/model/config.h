// ConfigView: every configuration object at one version, immutable once published.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "schedd/model/access_table.h"
#include "schedd/model/disruption.h"
#include "schedd/model/override.h"
#include "schedd/model/placement.h"
#include "schedd/model/queues.h"

namespace muster {

struct ConfigView {
  std::map<std::string, Namespace> namespaces;
  std::map<std::string, ResourceFlavor> flavors;
  std::map<std::string, ClusterQueue> cluster_queues;
  /// Declared ones; a cohort that a queue names exists without being declared.
  std::map<std::string, Cohort> cohorts;
  std::map<std::pair<std::string, std::string>, LocalQueue> local_queues;  // (namespace, name)
  std::map<std::string, WorkloadPriorityClass> priority_classes;
  std::map<std::string, MemberCluster> member_clusters;
  std::map<std::string, Topology> topologies;
  std::map<std::string, AdmissionCheck> admission_checks;
  std::map<std::pair<std::string, std::string>, LimitRange> limit_ranges;  // (namespace, name)
  std::map<std::string, RuntimeClass> runtime_classes;
  std::shared_ptr<const PlacementTable> placements = std::make_shared<const PlacementTable>();
  // By (namespace, name); the namespace is "" for those of a ClusterResourcePlacement.
  std::map<std::pair<std::string, std::string>, DisruptionBudget> disruption_budgets;
  std::map<std::pair<std::string, std::string>, PlacementEviction> placement_evictions;
  // By (namespace, name); the namespace is "" for the cluster-scoped kind of each.
  std::map<std::pair<std::string, std::string>, ResourceOverride> overrides;
  std::map<std::pair<std::string, std::string>, ResourceEnvelope> envelopes;
  /// Roles, bindings and access tokens; never null.
  std::shared_ptr<const AccessTable> access = std::make_shared<const AccessTable>();
  std::int64_t version = 0;  // grows with every change
};
using ConfigPtr = std::shared_ptr<const ConfigView>;

}  // namespace muster
