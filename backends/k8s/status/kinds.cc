// The table of kinds, and paths on an API server.
#include "backends/k8s/status/kinds.h"

#include <array>

#include "schedd/model/shape_kind.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr KindInfo InfoOf(ShapeKind shape, std::string_view suspend_pointer,
                          bool by_replicas = false, bool serves = false) {
  const ShapeInfo& info = ShapeInfoOf(shape);
  return {info.api_version, info.name, info.plural, suspend_pointer, by_replicas, serves};
}

// A RayCluster can be suspended since KubeRay 1.1. A LeaderWorkerSet has no suspension, so it is
// created with 0 replicas.
constexpr std::array<KindInfo, 6> kKinds = {
    InfoOf(ShapeKind::kJob, "/spec/suspend"),
    InfoOf(ShapeKind::kJobSet, "/spec/suspend"),
    InfoOf(ShapeKind::kPyTorchJob, "/spec/runPolicy/suspend"),
    InfoOf(ShapeKind::kRayJob, "/spec/suspend"),
    InfoOf(ShapeKind::kRayCluster, "/spec/suspend", false, true),
    InfoOf(ShapeKind::kLeaderWorkerSet, "/spec/replicas", true, true),
};

}  // namespace

std::span<const KindInfo> Kinds() { return kKinds; }

const KindInfo* KindByApi(std::string_view api_version, std::string_view kind) {
  for (const KindInfo& info : kKinds) {
    if (info.api_version == api_version && info.kind == kind) return &info;
  }
  return nullptr;
}

std::string GroupPath(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return "/api/" + PercentEncode(api_version);
  return "/apis/" + PercentEncode(api_version.substr(0, slash)) + "/" +
         PercentEncode(api_version.substr(slash + 1));
}

std::string CollectionPath(std::string_view api_version, std::string_view resource,
                           std::string_view ns) {
  std::string path = GroupPath(api_version);
  if (!ns.empty()) path += "/namespaces/" + PercentEncode(ns);
  return path + "/" + PercentEncode(resource);
}

std::string ObjectPath(std::string_view api_version, std::string_view resource, std::string_view ns,
                       std::string_view name) {
  return CollectionPath(api_version, resource, ns) + "/" + PercentEncode(name);
}

std::string CollectionPath(const KindInfo& kind, std::string_view ns) {
  return CollectionPath(kind.api_version, kind.resource, ns);
}

std::string ObjectPath(const KindInfo& kind, std::string_view ns, std::string_view name) {
  return ObjectPath(kind.api_version, kind.resource, ns, name);
}

std::string_view DependentResource(std::string_view api_version, std::string_view kind) {
  if (api_version != "v1") return "";
  if (kind == "ConfigMap") return "configmaps";
  if (kind == "Service") return "services";
  return kind == "Secret" ? "secrets" : "";
}

}  // namespace muster::k8s
