#include "api/rest/kube_resources.h"

namespace muster::rest {
namespace {

std::vector<std::string_view> ShortNames(std::string_view plural) {
  if (plural == "namespaces") return {"ns"};
  if (plural == "configmaps") return {"cm"};
  if (plural == "limitranges") return {"limits"};
  if (plural == "clusterqueues") return {"cq"};
  if (plural == "localqueues") return {"queue", "queues", "lq"};
  if (plural == "resourceflavors") return {"flavor", "flavors", "rf"};
  if (plural == "workloads") return {"wl", "kueueworkload", "kueueworkloads"};
  if (plural == "clusterresourceplacements") return {"crp"};
  if (plural == "resourceplacements") return {"rp"};
  if (plural == "clusterresourceplacementevictions") return {"crpe"};
  if (plural == "clusterresourceplacementdisruptionbudgets") return {"crpdb"};
  if (plural == "clusterresourceoverrides") return {"cro"};
  if (plural == "resourceoverrides") return {"ro"};
  if (plural == "rayclusters") return {"raycluster"};
  if (plural == "leaderworkersets") return {"lws"};
  return {};
}

KubeResource JobKind(const char* group, const char* version, const char* plural, const char* kind,
                     ShapeKind shape) {
  return {group, version, plural, kind, true, nullptr, shape, ShortNames(plural)};
}

std::vector<KubeResource> MakeResources() {
  std::vector<KubeResource> all;
  for (const shapes::KindInfo& info : shapes::Kinds()) {
    for (const char* version : info.versions) {
      if (version == nullptr) continue;
      all.push_back({info.group, version, info.plural, info.name, info.namespaced, &info,
                     std::nullopt, ShortNames(info.plural)});
    }
  }
  all.push_back(JobKind("batch", "v1", "jobs", "Job", ShapeKind::kJob));
  all.push_back(JobKind("ray.io", "v1", "rayjobs", "RayJob", ShapeKind::kRayJob));
  all.push_back(JobKind("ray.io", "v1", "rayclusters", "RayCluster", ShapeKind::kRayCluster));
  all.push_back(JobKind("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", ShapeKind::kPyTorchJob));
  all.push_back(JobKind("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", ShapeKind::kJobSet));
  all.push_back(JobKind("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet",
                        ShapeKind::kLeaderWorkerSet));
  all.push_back(
      JobKind("kueue.x-k8s.io", "v1beta1", "workloads", "Workload", ShapeKind::kWorkload));
  all.push_back(
      JobKind("kueue.x-k8s.io", "v1beta2", "workloads", "Workload", ShapeKind::kWorkload));
  return all;
}

}  // namespace

const std::vector<KubeResource>& KubeResources() {
  static const std::vector<KubeResource> all = MakeResources();
  return all;
}

const KubeResource* FindKubeResource(std::string_view group, std::string_view version,
                                     std::string_view plural) {
  for (const KubeResource& resource : KubeResources()) {
    if (resource.group == group && resource.version == version && resource.plural == plural)
      return &resource;
  }
  return nullptr;
}

}  // namespace muster::rest
