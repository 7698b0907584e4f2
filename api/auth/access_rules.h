// What each way into the daemon asks for: one row for each route of the REST API and each method of
// the gRPC services (rule U20). A route without a row does not compile (api/rest/routes.cc); a
// method without one fails tests/unit/rest/access_rules_test.cc and its brother in tests/unit/grpc,
// which generate S06's matrix from this table.
//
// Constants; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "api/auth/authorizer.h"

namespace muster::auth {

/// Who may come this way.
enum class AccessScope : std::uint8_t {
  kPublic,   // everybody
  kPath,     // who may read the path (RBAC's nonResourceURLs)
  kKnown,    // every known caller: questions about oneself
  kService,  // a known caller; the use case asks for the verb on the resource
};

struct AccessRule {
  /// "GET /v1/jobs/{id}", or for gRPC "muster.v1.JobService/GetJob".
  std::string_view way;
  /// For the Kubernetes paths of a list: watch if the request says so.
  Verb verb = Verb::kGet;
  /// GROUP/PLURAL[/SUBRESOURCE]. {job} is the resource of the job's kind, of which RESOURCE/own is
  /// enough for the caller's own jobs; {object} that of the path or request; {document} that of
  /// each document, with create for what does not exist yet.
  std::string_view resource;
  AccessScope scope = AccessScope::kService;
};

/// The rows of a collection of objects below a prefix.
#define MUSTER_OBJECT_RULES(PREFIX)                                                 \
  {"GET " PREFIX "{plural}", Verb::kList, "{object}"},                              \
      {"POST " PREFIX "{plural}", Verb::kCreate, "{object}"},                       \
      {"GET " PREFIX "{plural}/{name}", Verb::kGet, "{object}"},                    \
      {"PUT " PREFIX "{plural}/{name}", Verb::kUpdate, "{object}"},                 \
      {"PATCH " PREFIX "{plural}/{name}", Verb::kPatch, "{object}"},                \
      {"DELETE " PREFIX "{plural}/{name}", Verb::kDelete, "{object}"},              \
      {"GET " PREFIX "{plural}/{name}/status", Verb::kGet, "{object}/status"},      \
      {"PUT " PREFIX "{plural}/{name}/status", Verb::kUpdate, "{object}/status"}, { \
    "PATCH " PREFIX "{plural}/{name}/status", Verb::kPatch, "{object}/status"       \
  }

inline constexpr AccessRule kAccessRules[] = {
    {"GET /livez", Verb::kGet, "health", AccessScope::kPublic},
    {"GET /healthz", Verb::kGet, "health", AccessScope::kPublic},
    {"GET /readyz", Verb::kGet, "health", AccessScope::kPublic},
    {"GET /ui", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /ui/{view}", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /ui/{view}/{item}", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /ui/{view}/{item}/{part}", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /ui/providers", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /ui/assets/{file}", Verb::kGet, "page", AccessScope::kPublic},
    {"GET /", Verb::kGet, "paths", AccessScope::kPath},
    {"GET /metrics", Verb::kGet, "metrics", AccessScope::kPath},
    {"GET /openapi.yaml", Verb::kGet, "openapi", AccessScope::kPath},
    {"GET /openapi/v3", Verb::kGet, "openapi", AccessScope::kPath},
    {"GET /openapi/v3/api/v1", Verb::kGet, "openapi", AccessScope::kPath},
    {"GET /openapi/v3/apis/{group}/{version}", Verb::kGet, "openapi", AccessScope::kPath},
    {"GET /version", Verb::kGet, "version", AccessScope::kPath},
    {"GET /v1/status", Verb::kGet, "status", AccessScope::kPath},
    {"GET /api", Verb::kGet, "discovery", AccessScope::kPath},
    {"GET /apis", Verb::kGet, "discovery", AccessScope::kPath},
    {"GET /apis/{group}", Verb::kGet, "discovery", AccessScope::kPath},
    {"GET /api/v1", Verb::kGet, "discovery", AccessScope::kPath},
    {"GET /apis/{group}/{version}", Verb::kGet, "discovery", AccessScope::kPath},
    {"POST /v1/namespaces/{namespace}/jobs", Verb::kCreate, "{job}"},
    {"POST /v1/namespaces/{namespace}/jobs:batch", Verb::kCreate, "{job}"},
    {"POST /v1/apply", Verb::kUpdate, "{document}"},
    {"GET /v1/jobs", Verb::kList, "{job}"},
    {"GET /v1/jobcounts", Verb::kList, "{job}"},
    {"GET /v1/jobs/{id}", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/manifest", Verb::kGet, "{job}"},
    {"DELETE /v1/jobs/{id}", Verb::kDelete, "{job}"},
    {"POST /v1/jobs/{id}:hold", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:release", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:requeue", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:suspend", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:resume", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:keep", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:update", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:nominate", Verb::kUpdate, "{job}"},
    {"POST /v1/jobs/{id}:signal", Verb::kDelete, "{job}"},
    {"POST /v1/jobs/{id}:notify", Verb::kUpdate, "{job}"},
    {"GET /v1/jobs/{id}/explain", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/events", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/script", Verb::kGet, "{job}/log"},
    {"GET /v1/jobs/{id}/pods", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/steps", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/member-events", Verb::kGet, "{job}"},
    {"GET /v1/jobs/{id}/logs", Verb::kGet, "{job}/log"},
    {"GET /v1/events", Verb::kList, "muster.io/events"},
    {"GET /v1/steps", Verb::kGet, "{job}"},
    {"GET /v1/accounting", Verb::kList, "muster.io/accounting"},
    {"GET /v1/whoami", Verb::kGet, "selfsubjectreviews", AccessScope::kKnown},
    {"POST /v1/tokens", Verb::kCreate, "muster.io/accesstokens"},
    {"GET /v1/audit", Verb::kList, "muster.io/audit"},
    {"GET /v1/quotas", Verb::kGet, "kueue.x-k8s.io/clusterqueues"},
    {"POST /v1/quotas", Verb::kUpdate, "kueue.x-k8s.io/clusterqueues"},
    {"GET /v1/clusterqueues/{name}/order", Verb::kGet, "kueue.x-k8s.io/clusterqueues"},
    {"POST /v1/memberclusters", Verb::kCreate, "cluster.kubernetes-fleet.io/memberclusters"},
    {"DELETE /v1/memberclusters/{name}", Verb::kDelete,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"GET /v1/memberclusters/{name}/facts", Verb::kGet,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/memberclusters/{name}:cordon", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/memberclusters/{name}:uncordon", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/memberclusters/{name}:fence", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/memberclusters/{name}:collect", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/memberclusters/{name}:drain", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"POST /v1/simulate", Verb::kCreate, "muster.io/simulations"},
    {"POST /apis/authentication.k8s.io/v1/selfsubjectreviews", Verb::kCreate,
     "authentication.k8s.io/selfsubjectreviews", AccessScope::kKnown},
    {"POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Verb::kCreate,
     "authorization.k8s.io/selfsubjectaccessreviews", AccessScope::kKnown},
    {"POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", Verb::kCreate,
     "authorization.k8s.io/selfsubjectrulesreviews", AccessScope::kKnown},
    {"POST /apis/authentication.k8s.io/v1/tokenreviews", Verb::kCreate,
     "authentication.k8s.io/tokenreviews"},
    {"POST /apis/authorization.k8s.io/v1/subjectaccessreviews", Verb::kCreate,
     "authorization.k8s.io/subjectaccessreviews"},
    {"POST /apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews",
     Verb::kCreate, "authorization.k8s.io/localsubjectaccessreviews"},
    MUSTER_OBJECT_RULES("/api/v1/"),
    MUSTER_OBJECT_RULES("/api/v1/namespaces/{namespace}/"),
    MUSTER_OBJECT_RULES("/apis/{group}/{version}/"),
    MUSTER_OBJECT_RULES("/apis/{group}/{version}/namespaces/{namespace}/"),
    {"muster.v1.JobService/SubmitJob", Verb::kCreate, "{job}"},
    {"muster.v1.JobService/BatchSubmitJobs", Verb::kCreate, "{job}"},
    {"muster.v1.JobService/StreamSubmitJobs", Verb::kCreate, "{job}"},
    {"muster.v1.JobService/GetJob", Verb::kGet, "{job}"},
    {"muster.v1.JobService/ListJobs", Verb::kList, "{job}"},
    {"muster.v1.JobService/CancelJob", Verb::kDelete, "{job}"},
    {"muster.v1.JobService/HoldJob", Verb::kUpdate, "{job}"},
    {"muster.v1.JobService/ReleaseJob", Verb::kUpdate, "{job}"},
    {"muster.v1.JobService/RequeueJob", Verb::kUpdate, "{job}"},
    {"muster.v1.JobService/NominateClusters", Verb::kUpdate, "{job}"},
    {"muster.v1.JobService/ExplainJob", Verb::kGet, "{job}"},
    {"muster.v1.JobService/ReadLog", Verb::kGet, "{job}/log"},
    {"muster.v1.JobService/WatchEvents", Verb::kList, "muster.io/events"},
    {"muster.v1.QueueService/GetObject", Verb::kGet, "{object}"},
    {"muster.v1.QueueService/ListObjects", Verb::kList, "{object}"},
    {"muster.v1.QueueService/Apply", Verb::kUpdate, "{document}"},
    {"muster.v1.QueueService/DeleteObject", Verb::kDelete, "{object}"},
    {"muster.v1.ClusterService/ListClusters", Verb::kList,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.ClusterService/GetCluster", Verb::kList,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.ClusterService/CordonCluster", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.ClusterService/DrainCluster", Verb::kUpdate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.ClusterService/AddCluster", Verb::kCreate,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.ClusterService/RemoveCluster", Verb::kDelete,
     "cluster.kubernetes-fleet.io/memberclusters"},
    {"muster.v1.QuotaAdminService/GetQuota", Verb::kGet, "kueue.x-k8s.io/clusterqueues"},
    {"muster.v1.QuotaAdminService/ListQuotas", Verb::kGet, "kueue.x-k8s.io/clusterqueues"},
    {"muster.v1.QuotaAdminService/SetQuota", Verb::kUpdate, "kueue.x-k8s.io/clusterqueues"},
};
#undef MUSTER_OBJECT_RULES

/// The place of a way in the table; the number of its rows if no way of this name exists. (A
/// pointer is no constant for GCC with UBSan.)
constexpr std::size_t PlaceOfAccessRule(std::string_view way) {
  std::size_t place = 0;
  while (place < std::size(kAccessRules) && kAccessRules[place].way != way) ++place;
  return place;
}

}  // namespace muster::auth
