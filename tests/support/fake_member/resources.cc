#include "tests/support/fake_member/resources.h"

namespace muster::fake {

namespace {

std::vector<Resource> JobResources() {
  const auto core = [](std::string plural, std::string kind, bool namespaced, bool status,
                       std::vector<std::string> selectable) {
    return Resource{"",     "v1",  std::move(plural),    std::move(kind), namespaced, true,
                    status, false, std::move(selectable)};
  };
  return {
      core("namespaces", "Namespace", false, true, {"status.phase"}),
      core("nodes", "Node", false, true, {"spec.unschedulable"}),
      core("pods", "Pod", true, true,
           {"spec.nodeName", "status.phase", "spec.restartPolicy", "status.podIP"}),
      core("configmaps", "ConfigMap", true, false, {}),
      core("secrets", "Secret", true, false, {"type"}),
      core("services", "Service", true, true, {}),
      core("serviceaccounts", "ServiceAccount", true, false, {}),
      core("persistentvolumeclaims", "PersistentVolumeClaim", true, true, {}),
      core("events", "Event", true, false,
           {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
            "involvedObject.uid", "reason", "type"}),
      {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false, true},
      {"batch", "v1", "jobs", "Job", true, true, true, false, {"status.successful"}},
      {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true, false, true},
      {"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", true, false, true},
      {"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", true, false, true,
       true},
      {"ray.io", "v1", "rayjobs", "RayJob", true, false, true},
      {"ray.io", "v1", "rayclusters", "RayCluster", true, false, true},
  };
}

std::vector<Resource> ConfigurationResources() {
  const auto kueue = [](std::string plural, std::string kind, bool namespaced) {
    return Resource{"kueue.x-k8s.io",
                    "v1beta1",
                    std::move(plural),
                    std::move(kind),
                    namespaced,
                    false,
                    true,
                    false,
                    {},
                    true};
  };
  return {
      kueue("resourceflavors", "ResourceFlavor", false),
      kueue("clusterqueues", "ClusterQueue", false),
      kueue("cohorts", "Cohort", false),
      kueue("localqueues", "LocalQueue", true),
      kueue("workloads", "Workload", true),
      kueue("workloadpriorityclasses", "WorkloadPriorityClass", false),
      kueue("admissionchecks", "AdmissionCheck", false),
      kueue("topologies", "Topology", false),
      {"", "v1", "limitranges", "LimitRange", true, true, false, false, {}, true},
      {"apps", "v1", "deployments", "Deployment", true, true, true, true, {}, true},
  };
}

}  // namespace

std::vector<Resource> DefaultResources() {
  std::vector<Resource> all = JobResources();
  for (Resource& one : ConfigurationResources()) all.push_back(std::move(one));
  for (Resource& one : all) {
    if (one.kind == "Namespace" || one.kind == "ConfigMap" || one.kind == "Secret")
      one.owned = true;
  }
  return all;
}

}  // namespace muster::fake
