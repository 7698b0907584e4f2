// Queue objects, typed: LocalQueue, ClusterQueue, Cohort, ResourceFlavor, WorkloadPriorityClass,
// Namespace, and the member clusters' facts. Plain values parsed from their manifests
// (schedd/shapes/queue_objects). Semantics: kueue.md 1.1, 2.5.1, 2.6.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/resources.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// The kinds of configuration objects. Values are stored: never renumber.
enum class ObjectKind : std::uint8_t {
  kNamespace = 1,
  kResourceFlavor = 2,
  kClusterQueue = 3,
  kCohort = 4,
  kLocalQueue = 5,
  kWorkloadPriorityClass = 6,
  kMemberCluster = 7,
  kConfigMap = 8,
  kSecret = 9,
};

/// A configuration object as stored: Kubernetes-shaped, whatever frontend it came through.
struct StoredObject {
  ObjectKind kind = ObjectKind::kNamespace;
  std::string ns;  // "" for cluster-scoped kinds
  std::string name;
  Uid uid;
  std::int64_t generation = 1;        // grows when the spec changes
  std::int64_t resource_version = 0;  // event number of the last change
  WallTime creation_time;
  std::string manifest;  // JSON text: apiVersion, kind, metadata (labels, annotations), spec
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

struct Quota {
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing_limit;
  std::optional<std::int64_t> lending_limit;
  bool operator==(const Quota&) const = default;
};

struct FlavorQuotas {
  std::string flavor;
  std::vector<std::pair<std::string, Quota>> resources;  // in coveredResources' order
  bool operator==(const FlavorQuotas&) const = default;
};

struct ResourceGroup {
  std::vector<std::string> covered_resources;
  std::vector<FlavorQuotas> flavors;  // tried in this order
  bool operator==(const ResourceGroup&) const = default;
};

enum class QueueingStrategy : std::uint8_t { kBestEffortFifo, kStrictFifo };
enum class StopPolicy : std::uint8_t { kNone, kHold, kHoldAndDrain };
enum class FungibilityPolicy : std::uint8_t { kMayStopSearch, kTryNextFlavor };

struct ClusterQueue {
  std::string name;
  std::string cohort;  // "": none
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  std::optional<LabelSelector> namespace_selector;  // nullopt: matches nothing
  std::vector<ResourceGroup> resource_groups;
  FungibilityPolicy when_can_borrow = FungibilityPolicy::kMayStopSearch;
  FungibilityPolicy when_can_preempt = FungibilityPolicy::kTryNextFlavor;
  StopPolicy stop_policy = StopPolicy::kNone;
};

struct Cohort {
  std::string name;
  std::string parent;  // "": a root
  std::vector<ResourceGroup> resource_groups;
};

struct ResourceFlavor {
  std::string name;
  LabelMap node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
};

struct LocalQueue {
  std::string ns, name, cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
};

struct WorkloadPriorityClass {
  std::string name;
  std::int32_t value = 0;
  std::string description;
};

struct Namespace {
  std::string name;
  LabelMap labels;
};

/// What is known of one member cluster: declared or observed.
struct MemberCluster {
  std::string name;
  std::string backend;  // "local" or "simulated"; "kubernetes" with the next backend
  LabelMap labels;
  std::vector<Taint> taints;
  bool any_flavor =
      false;  // local members: a flavor's label key that the member does not declare matches
  ResourceList allocatable;
  bool healthy = true;
  bool cordoned = false;
};

}  // namespace muster
