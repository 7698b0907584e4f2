// The kinds of configuration objects, with their names in paths and documents.
#include "schedd/base/check.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/queue_objects.h"

namespace muster::shapes {
namespace {

constexpr char kKueue[] = "kueue.x-k8s.io";
constexpr char kFleet[] = "cluster.kubernetes-fleet.io";
constexpr char kPlacement[] = "placement.kubernetes-fleet.io";

constexpr KindInfo kKinds[] = {
    {ObjectKind::kNamespace, "Namespace", "namespaces", "", {"v1", nullptr}, false},
    {ObjectKind::kResourceFlavor,
     "ResourceFlavor",
     "resourceflavors",
     kKueue,
     {"v1beta1", "v1beta2"},
     false},
    {ObjectKind::kClusterQueue,
     "ClusterQueue",
     "clusterqueues",
     kKueue,
     {"v1beta1", "v1beta2"},
     false},
    {ObjectKind::kCohort, "Cohort", "cohorts", kKueue, {"v1beta1", "v1beta2"}, false},
    {ObjectKind::kLocalQueue, "LocalQueue", "localqueues", kKueue, {"v1beta1", "v1beta2"}, true},
    {ObjectKind::kWorkloadPriorityClass,
     "WorkloadPriorityClass",
     "workloadpriorityclasses",
     kKueue,
     {"v1beta1", "v1beta2"},
     false},
    {ObjectKind::kTopology, "Topology", "topologies", kKueue, {"v1beta1", "v1beta2"}, false},
    {ObjectKind::kAdmissionCheck,
     "AdmissionCheck",
     "admissionchecks",
     kKueue,
     {"v1beta1", "v1beta2"},
     false},
    {ObjectKind::kLimitRange, "LimitRange", "limitranges", "", {"v1", nullptr}, true},
    {ObjectKind::kRuntimeClass,
     "RuntimeClass",
     "runtimeclasses",
     "node.k8s.io",
     {"v1", nullptr},
     false},
    {ObjectKind::kMemberCluster,
     "MemberCluster",
     "memberclusters",
     kFleet,
     {"v1beta1", nullptr},
     false},
    {ObjectKind::kConfigMap, "ConfigMap", "configmaps", "", {"v1", nullptr}, true},
    {ObjectKind::kSecret, "Secret", "secrets", "", {"v1", nullptr}, true},
    {ObjectKind::kClusterResourceEnvelope,
     "ClusterResourceEnvelope",
     "clusterresourceenvelopes",
     kPlacement,
     {"v1beta1", "v1"},
     false},
    {ObjectKind::kResourceEnvelope,
     "ResourceEnvelope",
     "resourceenvelopes",
     kPlacement,
     {"v1beta1", "v1"},
     true},
    {ObjectKind::kClusterResourceOverride,
     "ClusterResourceOverride",
     "clusterresourceoverrides",
     kPlacement,
     {"v1beta1", "v1"},
     false},
    {ObjectKind::kResourceOverride,
     "ResourceOverride",
     "resourceoverrides",
     kPlacement,
     {"v1beta1", "v1"},
     true},
    {ObjectKind::kClusterResourcePlacement,
     "ClusterResourcePlacement",
     "clusterresourceplacements",
     kPlacement,
     {"v1beta1", "v1"},
     false},
    {ObjectKind::kResourcePlacement,
     "ResourcePlacement",
     "resourceplacements",
     kPlacement,
     {"v1beta1", "v1"},
     true},
    {ObjectKind::kClusterResourcePlacementDisruptionBudget,
     "ClusterResourcePlacementDisruptionBudget",
     "clusterresourceplacementdisruptionbudgets",
     kPlacement,
     {"v1beta1", "v1"},
     false},
    {ObjectKind::kResourcePlacementDisruptionBudget,
     "ResourcePlacementDisruptionBudget",
     "resourceplacementdisruptionbudgets",
     kPlacement,
     {"v1beta1", "v1"},
     true},
    {ObjectKind::kClusterResourcePlacementEviction,
     "ClusterResourcePlacementEviction",
     "clusterresourceplacementevictions",
     kPlacement,
     {"v1beta1", "v1"},
     false},
    {ObjectKind::kResourcePlacementEviction,
     "ResourcePlacementEviction",
     "resourceplacementevictions",
     kPlacement,
     {"v1beta1", "v1"},
     true},
};

}  // namespace

const KindInfo& InfoOf(ObjectKind kind) {
  for (const auto& info : kKinds) {
    if (info.kind == kind) return info;
  }
  MUSTER_CHECK(!"every ObjectKind is listed");
  return kKinds[0];
}

std::span<const KindInfo> Kinds() { return kKinds; }

const KindInfo* FindKind(std::string_view group, std::string_view plural) {
  for (const auto& info : kKinds) {
    if (group == info.group && plural == info.plural) return &info;
  }
  return nullptr;
}

const KindInfo* FindKindOf(std::string_view group, std::string_view kind) {
  for (const auto& info : kKinds) {
    if (kind == info.name && group == info.group) return &info;
  }
  return nullptr;
}

bool Serves(const KindInfo& info, std::string_view version) {
  return version == info.versions[0] ||
         (info.versions[1] != nullptr && version == info.versions[1]);
}

std::string NotServed(const KindInfo& info, std::string_view version) {
  std::string versions = info.versions[0];
  if (info.versions[1] != nullptr) versions += std::string(" and ") + info.versions[1];
  return std::string(info.name) + " is served in " + versions + ", not " + Quoted(version);
}

}  // namespace muster::shapes
