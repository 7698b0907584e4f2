// The kinds of object that Muster dispatches to Kubernetes, and where an API server keeps them
// (rules A6, D23).
//
// Pure functions and constants; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::k8s {

/// One kind. Every one is namespaced.
struct KindInfo {
  std::string_view api_version;  // "batch/v1"
  std::string_view kind;         // "Job"
  std::string_view resource;     // "jobs": its name in paths
  /// JSON pointer of the field that suspends it: a boolean, true while suspended; or, with
  /// `by_replicas`, a number of groups, 0 while suspended.
  std::string_view suspend_pointer;
  bool by_replicas = false;
  bool serves = false;  // runs until it is deleted: has no end of its own
};

/// Job, JobSet, PyTorchJob, RayJob, RayCluster, LeaderWorkerSet.
std::span<const KindInfo> Kinds();
/// Null if it is none of them.
const KindInfo* KindByApi(std::string_view api_version, std::string_view kind);

// Paths of an API server; each part is percent-encoded, so that no name can leave its place.

/// "/api/v1" of "v1", "/apis/batch/v1" of "batch/v1": discovery answers there.
std::string GroupPath(std::string_view api_version);
/// A resource of any kind: in one namespace, or of all with `ns` "" (also of a cluster-scoped one).
std::string CollectionPath(std::string_view api_version, std::string_view resource,
                           std::string_view ns);
/// One object of it; `ns` "" if it is cluster-scoped.
std::string ObjectPath(std::string_view api_version, std::string_view resource, std::string_view ns,
                       std::string_view name);
std::string CollectionPath(const KindInfo& kind, std::string_view ns);
std::string ObjectPath(const KindInfo& kind, std::string_view ns, std::string_view name);
/// "configmaps" of ("v1", "ConfigMap"), "secrets" likewise: the dependents there are; "" of others.
std::string_view DependentResource(std::string_view api_version, std::string_view kind);

}  // namespace muster::k8s
