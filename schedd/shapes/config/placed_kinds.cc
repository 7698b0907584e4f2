// Which kinds placements, overrides and envelopes may be about (rules P3, P28, P29). Of the kinds
// that Muster keeps, the scope is in the table of kinds; envelopes may hold any other kind, of
// which only the lists below are known.
#include <algorithm>

#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/kinds/shape_ops.h"

namespace muster::shapes {
namespace {

struct GroupedKind {
  std::string_view group, kind;  // kind "": every kind of the group
};

// Kinds whose objects belong to the cluster that made them.
constexpr GroupedKind kNeverPlaced[] = {
    {"", "Pod"},
    {"", "Node"},
    {"", "Event"},
    {"events.k8s.io", ""},
    {"coordination.k8s.io", ""},
    {"metrics.k8s.io", ""},
};

// The cluster-scoped kinds of Kubernetes that are commonly propagated.
constexpr GroupedKind kClusterScoped[] = {
    {"", "PersistentVolume"},
    {"rbac.authorization.k8s.io", "ClusterRole"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding"},
    {"apiextensions.k8s.io", "CustomResourceDefinition"},
    {"apiregistration.k8s.io", "APIService"},
    {"admissionregistration.k8s.io", ""},
    {"storage.k8s.io", "StorageClass"},
    {"storage.k8s.io", "CSIDriver"},
    {"scheduling.k8s.io", "PriorityClass"},
    {"networking.k8s.io", "IngressClass"},
};

template <std::size_t N>
bool IsListed(const GroupedKind (&list)[N], std::string_view group, std::string_view kind) {
  return std::any_of(std::begin(list), std::end(list), [&](const GroupedKind& one) {
    return group == one.group && (one.kind.empty() || kind == one.kind);
  });
}

}  // namespace

bool IsEnvelope(std::string_view group, std::string_view kind) {
  return group == "placement.kubernetes-fleet.io" &&
         (kind == "ResourceEnvelope" || kind == "ClusterResourceEnvelope");
}

bool IsNeverPlaced(std::string_view group, std::string_view kind) {
  if (IsEnvelope(group, kind)) return false;
  return group.ends_with("kubernetes-fleet.io") || group.ends_with("fleet.azure.com") ||
         IsListed(kNeverPlaced, group, kind);
}

bool IsPlacedJob(std::string_view group, std::string_view kind) {
  const std::string_view served = ApiVersionOf(kind);
  return !group.empty() && served.starts_with(std::string(group) + "/");
}

bool IsClusterScoped(std::string_view group, std::string_view kind) {
  const KindInfo* info = FindKindOf(group, kind);
  return info != nullptr ? !info->namespaced : IsListed(kClusterScoped, group, kind);
}

std::string ApiVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

}  // namespace muster::shapes
