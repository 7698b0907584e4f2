// The question every use case asks before it does anything: may this principal do this?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/auth/principal.h"
#include "schedd/base/result.h"

namespace muster::auth {

/// The verbs of Kubernetes' API that Muster's use cases ask for.
enum class Verb : std::uint8_t {
  kGet,
  kList,
  kWatch,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kImpersonate,
  kEscalate,
  kBind,
  kUse,  // Kubernetes' word for "may refer to it"; here of ClusterQueues
};
/// "get", "list", ....
std::string_view VerbName(Verb verb);

/// The object of a request, as RBAC names it. All but `resource` may be "".
struct ResourceRef {
  std::string_view group;        // "batch", "kueue.x-k8s.io", "muster.io"; "" for the core group
  std::string_view resource;     // the plural: "jobs", "rayjobs", "clusterqueues"
  std::string_view subresource;  // "log", "status", "own" (what the caller itself submitted)
  std::string_view ns;           // "" for an object of the cluster, or for all namespaces
  std::string_view name;         // "" for lists and creates
};

/// Thread-safe.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual bool Allows(const Principal& who, Verb verb, const ResourceRef& what) const = 0;
  /// A request for a path that is no resource, such as /metrics.
  virtual bool AllowsPath(const Principal& who, Verb verb, std::string_view path) const = 0;

  /// Done, or kPermissionDenied with Kubernetes' sentence: `User "bob" cannot list resource "jobs"
  /// in API group "batch" in the namespace "team-a"`.
  virtual Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const;
  virtual Status AuthorizePath(const Principal& who, Verb verb, std::string_view path) const;
};

}  // namespace muster::auth
