#include "backends/k8s/status/kinds.h"

#include <array>

#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

// A RayCluster can be suspended since KubeRay 1.1; a LeaderWorkerSet has no such field at all.
constexpr std::array<KindInfo, 6> kKinds = {{
    {"batch/v1", "Job", "jobs", "/spec/suspend"},
    {"jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", "/spec/suspend"},
    {"kubeflow.org/v1", "PyTorchJob", "pytorchjobs", "/spec/runPolicy/suspend"},
    {"ray.io/v1", "RayJob", "rayjobs", "/spec/suspend"},
    {"ray.io/v1", "RayCluster", "rayclusters", "/spec/suspend", false, true},
    {"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets", "/spec/replicas", true,
     true},
}};

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
  return kind == "Secret" ? "secrets" : "";
}

}  // namespace muster::k8s
