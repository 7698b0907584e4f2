// The table of waves. An object is applied after the objects that it depends on: namespaces and
// priority classes, configuration, roles and their bindings, flavors, queues, LocalQueues,
// workloads, webhooks, then kinds that are not listed. Objects are removed in the opposite order.
#include "schedd/propagation/step/waves.h"

#include <string_view>
#include <tuple>

namespace muster::propagation {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io";
constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kNetworking = "networking.k8s.io";

// KubeFleet's waves, with waves for Kueue's kinds between configuration and workloads.
enum Wave : std::int32_t {
  kNamespaces,
  kConfiguration,
  kRoles,
  kBindings,
  kFlavors,
  kQueues,
  kLocalQueues,
  kWorkloads,
  kHooks,
  kOthers,
};

// Which wave a kind belongs to.
struct KindWave {
  std::string_view group, kind;
  Wave wave;
};
// Read by WaveOf from the top; some forty kinds need no faster search.
constexpr KindWave kKinds[] = {
    {"", "Namespace", kNamespaces},
    {"scheduling.k8s.io", "PriorityClass", kNamespaces},
    {kKueue, "WorkloadPriorityClass", kNamespaces},
    {kNetworking, "NetworkPolicy", kConfiguration},
    {kNetworking, "IngressClass", kConfiguration},
    {"", "ResourceQuota", kConfiguration},
    {"", "LimitRange", kConfiguration},
    {"", "ServiceAccount", kConfiguration},
    {"", "Secret", kConfiguration},
    {"", "ConfigMap", kConfiguration},
    {"", "PersistentVolume", kConfiguration},
    {"", "PersistentVolumeClaim", kConfiguration},
    {"policy", "PodDisruptionBudget", kConfiguration},
    {"storage.k8s.io", "StorageClass", kConfiguration},
    {"node.k8s.io", "RuntimeClass", kConfiguration},
    {"apiextensions.k8s.io", "CustomResourceDefinition", kConfiguration},
    {kRbac, "ClusterRole", kRoles},
    {kRbac, "Role", kRoles},
    {kRbac, "ClusterRoleBinding", kBindings},
    {kRbac, "RoleBinding", kBindings},
    {kKueue, "Topology", kFlavors},
    {kKueue, "ResourceFlavor", kFlavors},
    {kKueue, "AdmissionCheck", kFlavors},
    {kKueue, "Cohort", kQueues},
    {kKueue, "ClusterQueue", kQueues},
    {kKueue, "LocalQueue", kLocalQueues},
    {"", "Service", kWorkloads},
    {"", "ReplicationController", kWorkloads},
    {"apps", "DaemonSet", kWorkloads},
    {"apps", "Deployment", kWorkloads},
    {"apps", "ReplicaSet", kWorkloads},
    {"apps", "StatefulSet", kWorkloads},
    {"autoscaling", "HorizontalPodAutoscaler", kWorkloads},
    {"batch", "CronJob", kWorkloads},
    {kNetworking, "Ingress", kWorkloads},
    {"apiregistration.k8s.io", "APIService", kHooks},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", kHooks},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", kHooks},
};

// The key by which objects are sorted; it refers into `ref`.
auto OrderOf(const ResourceRef& ref) {
  return std::tuple(WaveOf(ref), std::string_view(ref.kind), std::string_view(ref.group),
                    std::string_view(ref.ns), std::string_view(ref.name));
}

}  // namespace

std::int32_t WaveOf(const ResourceRef& ref) {
  for (const KindWave& known : kKinds) {
    if (ref.kind == known.kind && ref.group == known.group) return known.wave;
  }
  return kOthers;
}

bool AppliedBefore(const ResourceRef& a, const ResourceRef& b) { return OrderOf(a) < OrderOf(b); }

bool IsSameObject(const ResourceRef& a, const ResourceRef& b) {
  return a.kind == b.kind && a.group == b.group && a.ns == b.ns && a.name == b.name;
}

}  // namespace muster::propagation
