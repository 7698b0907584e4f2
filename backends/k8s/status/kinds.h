// The kinds of object that Muster dispatches to Kubernetes, and their paths on an API server (rules
// A6, D23).
//
// Pure functions and constants; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::k8s {

/// One kind. All of them are namespaced.
struct KindInfo {
  std::string_view api_version;  // "batch/v1"
  std::string_view kind;         // "Job"
  std::string_view resource;     // "jobs": its name in paths
  /// JSON pointer of the field that suspends it: a boolean, true while suspended; or, with
  /// `by_replicas`, a number of groups, 0 while suspended.
  std::string_view suspend_pointer;
  bool by_replicas = false;
  /// It has no end of its own and runs until it is deleted.
  bool serves = false;
};

/// Job, JobSet, PyTorchJob, RayJob, RayCluster, LeaderWorkerSet.
std::span<const KindInfo> Kinds();
/// Null if Muster does not dispatch the kind.
const KindInfo* KindByApi(std::string_view api_version, std::string_view kind);

// Paths of an API server. Each part is percent-encoded, so that no name can reach another path.

/// "/api/v1" for "v1", "/apis/batch/v1" for "batch/v1"; discovery answers there.
std::string GroupPath(std::string_view api_version);
/// A resource of any kind in one namespace; with `ns` "" in all of them, or a cluster-scoped
/// resource.
std::string CollectionPath(std::string_view api_version, std::string_view resource,
                           std::string_view ns);
/// One object of a resource; `ns` "" if it is cluster-scoped.
std::string ObjectPath(std::string_view api_version, std::string_view resource, std::string_view ns,
                       std::string_view name);
std::string CollectionPath(const KindInfo& kind, std::string_view ns);
std::string ObjectPath(const KindInfo& kind, std::string_view ns, std::string_view name);
/// The resource of a dependent: "configmaps" for ("v1", "ConfigMap"), "secrets" for Secret, "services" for Service; "" for
/// others.
std::string_view DependentResource(std::string_view api_version, std::string_view kind);

}  // namespace muster::k8s
