// Availability by kind, after KubeFleet's work applier (pkg/controllers/workapplier).
//
// The kinds with a controller are available when their status says that the controller has seen the
// present generation and reached the wanted counts. Kinds that no controller acts on are available
// at once (kData).
#include "backends/k8s/object_availability.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "backends/k8s/status/reader.h"

namespace muster::k8s {
namespace {

using GroupKind = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kRbac = "rbac.authorization.k8s.io", kStorage = "storage.k8s.io";

// Kinds that are plain data: no controller has to act on them.
constexpr std::array<GroupKind, 17> kData = {{{"", "Secret"},
                                              {"", "ConfigMap"},
                                              {"", "ServiceAccount"},
                                              {"", "LimitRange"},
                                              {"", "ResourceQuota"},
                                              {kRbac, "Role"},
                                              {kRbac, "ClusterRole"},
                                              {kRbac, "RoleBinding"},
                                              {kRbac, "ClusterRoleBinding"},
                                              {"networking.k8s.io", "NetworkPolicy"},
                                              {"networking.k8s.io", "IngressClass"},
                                              {kStorage, "CSIDriver"},
                                              {kStorage, "CSINode"},
                                              {kStorage, "StorageClass"},
                                              {kStorage, "CSIStorageCapacity"},
                                              {"apps", "ControllerRevision"},
                                              {"scheduling.k8s.io", "PriorityClass"}}};

// Whether the status belongs to the present generation.
bool IsSeen(const Reader& object) {
  return object["status"]["observedGeneration"].Integer() ==
         object["metadata"]["generation"].Integer();
}

// Whether the object has the condition with status True.
bool Holds(const Reader& object, std::string_view condition) {
  bool holds = false;
  object["status"]["conditions"].Each([&](const Reader& one) {
    holds = holds || (one["type"].View() == condition && one["status"].View() == "True");
  });
  return holds;
}

// All replicas are updated and available, and no old one is left.
bool DeploymentIsUp(const Reader& object) {
  const auto wanted = object["spec"]["replicas"].Count(1);
  const Reader status = object["status"];
  return IsSeen(object) && status["availableReplicas"].Count() == wanted &&
         status["updatedReplicas"].Count() == wanted && status["replicas"].Count() == wanted;
}

// All replicas are available and of the same, newest revision.
bool StatefulSetIsUp(const Reader& object) {
  const Reader status = object["status"];
  return IsSeen(object) &&
         status["availableReplicas"].Count() == object["spec"]["replicas"].Count(1) &&
         status["currentReplicas"].Count() == status["updatedReplicas"].Count() &&
         status["currentRevision"].View() == status["updateRevision"].View();
}

bool DaemonSetIsUp(const Reader& object) {
  const Reader status = object["status"];
  return IsSeen(object) &&
         status["numberAvailable"].Count() == status["desiredNumberScheduled"].Count() &&
         status["currentNumberScheduled"].Count() == status["updatedNumberScheduled"].Count();
}

// Whether a load balancer has been assigned an address.
bool HasIngress(const Reader& object) {
  bool has = false;
  object["status"]["loadBalancer"]["ingress"].Each([&](const Reader& one) {
    has = has || !one["ip"].View().empty() || !one["hostname"].View().empty();
  });
  return has;
}

ManifestAvailability If(bool available) {
  return available ? ManifestAvailability::kAvailable : ManifestAvailability::kNotYet;
}

// An ExternalName has nothing to wait for; a LoadBalancer waits for its address, others for theirs.
ManifestAvailability ServiceAvailability(const Reader& object) {
  const std::string_view type = object["spec"]["type"].View();
  if (type == "ExternalName") return ManifestAvailability::kNotTrackable;
  if (type == "LoadBalancer") return If(HasIngress(object));
  return If(!object["spec"]["clusterIP"].View().empty());
}

}  // namespace

ManifestAvailability AvailabilityOf(const ResourceRef& ref, const json::object& object) {
  const Reader reader(object);
  const auto is = [&](std::string_view group, std::string_view kind) {
    return ref.group == group && ref.kind == kind;
  };
  if (std::find(kData.begin(), kData.end(), GroupKind(ref.group, ref.kind)) != kData.end())
    return ManifestAvailability::kAvailable;
  if (is("", "Namespace")) return If(reader["status"]["phase"].View() != "Terminating");
  if (is("", "Service")) return ServiceAvailability(reader);
  if (is("apps", "Deployment")) return If(DeploymentIsUp(reader));
  if (is("apps", "StatefulSet")) return If(StatefulSetIsUp(reader));
  if (is("apps", "DaemonSet")) return If(DaemonSetIsUp(reader));
  if (is("policy", "PodDisruptionBudget")) return If(IsSeen(reader));
  if (is("apiextensions.k8s.io", "CustomResourceDefinition"))
    return If(Holds(reader, "Established") && Holds(reader, "NamesAccepted"));
  return ManifestAvailability::kNotTrackable;
}

}  // namespace muster::k8s
