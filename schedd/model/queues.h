// Queue objects, typed: LocalQueue, ClusterQueue, Cohort, ResourceFlavor, WorkloadPriorityClass,
// Namespace. Plain values parsed from their manifests (schedd/shapes/queue_objects). Semantics:
// rules A4, A25 to A31.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/limit_range.h"
#include "schedd/model/member_cluster.h"
#include "schedd/model/partition.h"
#include "schedd/model/resources.h"
#include "schedd/model/scheduling.h"
#include "schedd/model/tenancy.h"
#include "schedd/model/topology.h"

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
  kTopology = 10,
  kAdmissionCheck = 11,
  kLimitRange = 12,
  kRuntimeClass = 13,
  kClusterResourcePlacement = 14,
  kResourcePlacement = 15,
  kClusterResourcePlacementEviction = 16,
  kResourcePlacementEviction = 17,
  kClusterResourcePlacementDisruptionBudget = 18,
  kResourcePlacementDisruptionBudget = 19,
  kClusterResourceOverride = 20,
  kResourceOverride = 21,
  kClusterResourceEnvelope = 22,
  kResourceEnvelope = 23,
  kRole = 24,
  kClusterRole = 25,
  kRoleBinding = 26,
  kClusterRoleBinding = 27,
  kAccessToken = 28,
};

/// A configuration object as it is stored: shaped as in Kubernetes, whichever frontend it came
/// through.
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
/// flavorFungibility.preference. The comment in Kueue's API describes the two the wrong way round;
/// this is the code's meaning (rule A30).
enum class FungibilityPreference : std::uint8_t {
  kBorrowingOverPreemption,
  kPreemptionOverBorrowing
};

/// Which workloads a queue may evict (rule A35).
enum class PreemptionPolicy : std::uint8_t {
  kNever,
  kLowerPriority,
  kLowerOrNewerEqualPriority,
  kAny
};

struct QueuePreemption {
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;
  PreemptionPolicy borrow_within_cohort = PreemptionPolicy::kNever;  // kNever or kLowerPriority
  std::optional<std::int32_t> max_priority_threshold;                // of borrow_within_cohort
};

/// One entry of admissionChecksStrategy.
struct AdmissionCheckRule {
  std::string name;
  std::vector<std::string> on_flavors;  // empty: all
  bool operator==(const AdmissionCheckRule&) const = default;
};

/// spec.concurrentAdmissionPolicy (KEP-8691).
struct ConcurrentAdmissionPolicy {
  bool migrate = false;  // TryPreferredFlavors; false: RetainFirstAdmission
  std::string last_acceptable_flavor;
  bool operator==(const ConcurrentAdmissionPolicy&) const = default;
};

/// What happens to attempts whose member does not answer (rule D16).
enum class ClusterLostPolicy : std::uint8_t {
  kWait,          // the job waits until the member answers
  kFail,          // the job fails
  kAfterTimeout,  // the job runs again elsewhere after a while; both attempts may run then
  kAfterFence,    // the same when an administrator confirms that nothing runs on the member
};

/// Annotation muster.io/on-cluster-lost of a ClusterQueue.
struct OnClusterLost {
  ClusterLostPolicy policy = ClusterLostPolicy::kWait;
  std::int64_t timeout_s = 0;  // of kAfterTimeout
  bool operator==(const OnClusterLost&) const = default;
};

/// How the member of an admitted workload is found (rule P33).
enum class DispatchMode : std::uint8_t {
  kDirect,       // Muster decides
  kAllAtOnce,    // all members with a queue of their own are asked; the first to admit gets the job
  kIncremental,  // some members are asked, and more of them after a while
  kExternal,     // a controller nominates the members that are asked
};
/// "Direct", ...
std::string_view DispatchModeName(DispatchMode mode);

/// Annotations muster.io/dispatch-mode, -step and -every of a ClusterQueue.
struct MemberDispatch {
  DispatchMode mode = DispatchMode::kDirect;
  std::int32_t step = 3;       // of kIncremental: members asked at a time
  std::int64_t every_s = 300;  // of kIncremental: the time before more members are asked
  bool operator==(const MemberDispatch&) const = default;
};

/// Annotations muster.io/rebalance, -gain and -every of a ClusterQueue: running jobs that may be
/// moved go to a member that their placement scores higher.
struct Rebalance {
  bool on = false;
  std::int32_t gain = 10;      // points that a move must bring
  std::int64_t every_s = 300;  // at most one job of the queue in that time
  bool operator==(const Rebalance&) const = default;
};

struct ClusterQueue {
  std::string name;
  std::string cohort;  // "": none
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  std::optional<LabelSelector> namespace_selector;  // nullopt: matches nothing
  std::vector<ResourceGroup> resource_groups;
  FungibilityPolicy when_can_borrow = FungibilityPolicy::kMayStopSearch;
  FungibilityPolicy when_can_preempt = FungibilityPolicy::kTryNextFlavor;
  FungibilityPreference preference = FungibilityPreference::kBorrowingOverPreemption;
  QueuePreemption preemption;
  double fair_weight = 1;    // fairSharing.weight: 0 or above 1e-9 (KEP-1714)
  bool usage_based = false;  // admissionScope: UsageBasedAdmissionFairSharing (KEP-4136)
  std::vector<AdmissionCheckRule> admission_checks;
  std::optional<ConcurrentAdmissionPolicy> concurrent_admission;
  StopPolicy stop_policy = StopPolicy::kNone;
  OnClusterLost on_cluster_lost;
  std::string default_image;  // annotation muster.io/default-image; "": none
  std::string tools_image;    // annotation muster.io/tools-image; "": none
  /// Annotation muster.io/shared-directories (shared_directory.h); "": none.
  std::string shared_directories;
  std::string placement;  // annotation muster.io/placement; "": none
  MemberDispatch dispatch;
  Rebalance rebalance;
  std::optional<PodSecurityLevel> pod_security = {};  // annotation muster.io/pod-security
};

struct Cohort {
  std::string name;
  std::string parent;  // "": a root
  std::vector<ResourceGroup> resource_groups;
  double fair_weight = 1;
};

struct ResourceFlavor {
  std::string name;
  LabelMap node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  std::string topology = {};  // spec.topologyName; "": not topology aware
};

/// The kind AdmissionCheck. `active` is its condition Active, which its controller writes.
struct AdmissionCheck {
  std::string name;
  std::string controller;  // spec.controllerName
  bool active = false;
  std::int64_t retry_delay_s = 0;
};

struct LocalQueue {
  std::string ns, name, cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
  double fair_weight = 1;
  std::string default_image = {};  // annotation muster.io/default-image; "": none
  std::string tools_image = {};    // annotation muster.io/tools-image; "": none
  /// Annotation muster.io/shared-directories (shared_directory.h); "": none.
  std::string shared_directories = {};
  std::string placement = {};  // annotation muster.io/placement; "": none
  PartitionProperties partition = {};
};

struct WorkloadPriorityClass {
  std::string name;
  std::int32_t value = 0;
  std::string description;
};

}  // namespace muster
