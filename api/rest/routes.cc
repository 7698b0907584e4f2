// All routes of the daemon in one list. Every route goes through Bind, which finds the caller and,
// for routes added with Add, refuses with 503 until the daemon has recovered and leads; routes
// added with AddOpen answer at any time. No handler runs for a request that Admit refuses.
//
// Handlers that only read the view run inline on the reading thread; handlers that may read the
// store or parse long bodies run on the pool.
#include "api/rest/routes.h"

#include "api/auth/loopback.h"
#include "api/rest/handlers_admin.h"
#include "api/rest/handlers_jobs.h"
#include "api/rest/handlers_members.h"
#include "api/rest/handlers_nominate.h"
#include "api/rest/handlers_simulate.h"
#include "api/rest/handlers_streams.h"
#include "api/rest/handlers_submit.h"
#include "api/rest/handlers_system.h"
#include "api/rest/kube_changes.h"
#include "api/rest/kube_discovery.h"
#include "api/rest/kube_objects.h"
#include "api/rest/problem.h"
#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

using auth::Verb;

// The two forms of a handler: with its answer as the result, or with a Responder for a later
// answer.
using SyncFunction = Response (*)(ApiContext& api, const Caller& who, Request& request);
using AsyncFunction = void (*)(ApiContext& api, const Caller& who, Request& request,
                               Responder respond);

// The caller of a request. Errors: a malformed user name, credentials, or, if `needs_world`, a
// daemon that is not ready.
Result<Caller> Admit(ApiContext& api, const Request& request, bool needs_world) {
  Result<Caller> who = auth::LoopbackPrincipal(request.user, request.credentials);
  if (!who.ok() || !needs_world) return who;
  const Status ready = api.service.Ready();
  if (!ready.ok()) return ready.error();
  return who;
}

// Makes a route's handler out of a function: admits the caller, then calls the function.
SyncHandler Bind(ApiContext& api, SyncFunction handler, bool needs_world) {
  return [&api, handler, needs_world](Request& request) {
    const Result<Caller> who = Admit(api, request, needs_world);
    return who.ok() ? handler(api, *who, request) : ErrorResponse(request, who.error());
  };
}
AsyncHandler Bind(ApiContext& api, AsyncFunction handler, bool needs_world) {
  return [&api, handler, needs_world](Request& request, Responder respond) {
    const Result<Caller> who = Admit(api, request, needs_world);
    if (who.ok()) return handler(api, *who, request, std::move(respond));
    respond([kubernetes = request.IsKubernetesPath(), error = who.error()] {
      return ErrorResponse(kubernetes, error);
    });
  };
}

// Collects the routes.
class Table {
 public:
  explicit Table(ApiContext& api) : api_(api) {}
  // A route that reads or changes the world: all routes but those of AddOpen.
  template <class Handler>
  void Add(Method method, const char* pattern, Verb verb, const char* resource, std::size_t body,
           Run run, Handler handler) {
    routes_.push_back(
        {method, pattern, verb, resource, body, run, Bind(api_, handler, true), true});
  }
  // A route that answers about the daemon itself or the API, also while the daemon is not ready.
  void AddOpen(const char* pattern, const char* resource, Run run, SyncFunction handler) {
    routes_.push_back(
        {Method::kGet, pattern, Verb::kGet, resource, 0, run, Bind(api_, handler, false), false});
  }
  std::vector<Route> Take() { return std::move(routes_); }

 private:
  ApiContext& api_;
  std::vector<Route> routes_;
};

constexpr auto kGet = Method::kGet, kPost = Method::kPost, kPut = Method::kPut,
               kPatch = Method::kPatch, kDelete = Method::kDelete;
// Body limits: one manifest, many manifests, and DeleteOptions or the "{}" that some clients send
// to a verb.
constexpr std::size_t kManifest = limits::kManifestBytes, kMany = limits::kRequestBytes;
constexpr std::size_t kOptions = 16 << 10;

// The daemon itself; AddJobs, AddAdmin and AddKubernetes have the other groups.
void AddSystem(Table& table) {
  table.AddOpen("/", "paths", Run::kInline, Paths);
  table.AddOpen("/livez", "health", Run::kInline, Live);
  table.AddOpen("/healthz", "health", Run::kInline, Live);
  table.AddOpen("/readyz", "health", Run::kInline, Ready);
  table.AddOpen("/metrics", "metrics", Run::kPool, MetricsText);
  table.AddOpen("/openapi.yaml", "openapi", Run::kInline, OpenApiText);
  table.AddOpen("/version", "version", Run::kInline, Version);
  table.AddOpen("/v1/status", "status", Run::kInline, ServerStatus);
}

void AddJobs(Table& table) {
  table.Add(kPost, "/v1/namespaces/{namespace}/jobs", Verb::kCreate, "jobs", kManifest,
            Run::kInline, SubmitJob);
  table.Add(kPost, "/v1/namespaces/{namespace}/jobs:batch", Verb::kCreate, "jobs", kMany,
            Run::kPool, SubmitBatch);
  table.Add(kPost, "/v1/apply", Verb::kUpdate, "documents", kMany, Run::kPool, ApplyDocuments);
  table.Add(kGet, "/v1/jobs", Verb::kList, "jobs", 0, Run::kPool, ListJobs);
  table.Add(kGet, "/v1/jobs/{id}", Verb::kGet, "jobs", 0, Run::kPool, GetJob);
  table.Add(kDelete, "/v1/jobs/{id}", Verb::kDelete, "jobs", kOptions, Run::kPool, CancelJob);
  table.Add(kPost, "/v1/jobs/{id}:hold", Verb::kUpdate, "jobs", kOptions, Run::kPool, HoldJob);
  table.Add(kPost, "/v1/jobs/{id}:release", Verb::kUpdate, "jobs", kOptions, Run::kPool,
            ReleaseJob);
  table.Add(kPost, "/v1/jobs/{id}:requeue", Verb::kUpdate, "jobs", kOptions, Run::kPool,
            RequeueJob);
  table.Add(kPost, "/v1/jobs/{id}:nominate", Verb::kUpdate, "jobs", kOptions, Run::kPool,
            NominateClusters);
  table.Add(kGet, "/v1/jobs/{id}/explain", Verb::kGet, "jobs", 0, Run::kPool, ExplainJob);
  table.Add(kGet, "/v1/jobs/{id}/events", Verb::kGet, "jobs", 0, Run::kPool, JobEvents);
  table.Add(kGet, "/v1/jobs/{id}/pods", Verb::kGet, "jobs", 0, Run::kPool, JobPods);
  table.Add(kGet, "/v1/jobs/{id}/member-events", Verb::kGet, "jobs", 0, Run::kPool,
            JobMemberEvents);
  table.Add(kGet, "/v1/jobs/{id}/logs", Verb::kGet, "jobs", 0, Run::kPool, JobLogs);
  table.Add(kGet, "/v1/events", Verb::kList, "events", 0, Run::kPool, FollowEvents);
  table.Add(kGet, "/v1/accounting", Verb::kList, "jobs", 0, Run::kPool, Accounting);
}

void AddAdmin(Table& table) {
  table.Add(kGet, "/v1/audit", Verb::kList, "audit", 0, Run::kPool, ListAudit);
  table.Add(kGet, "/v1/quotas", Verb::kList, "clusterqueues", 0, Run::kPool, ListQuotas);
  table.Add(kPost, "/v1/memberclusters", Verb::kCreate, "memberclusters", kManifest, Run::kPool,
            AddCluster);
  table.Add(kDelete, "/v1/memberclusters/{name}", Verb::kDelete, "memberclusters", kOptions,
            Run::kPool, RemoveCluster);
  table.Add(kGet, "/v1/memberclusters/{name}/facts", Verb::kGet, "memberclusters", 0, Run::kPool,
            ClusterFacts);
  table.Add(kPost, "/v1/memberclusters/{name}:cordon", Verb::kUpdate, "memberclusters", kOptions,
            Run::kPool, CordonCluster);
  table.Add(kPost, "/v1/memberclusters/{name}:uncordon", Verb::kUpdate, "memberclusters", kOptions,
            Run::kPool, UncordonCluster);
  table.Add(kPost, "/v1/memberclusters/{name}:fence", Verb::kUpdate, "memberclusters", kOptions,
            Run::kPool, FenceCluster);
  table.Add(kPost, "/v1/memberclusters/{name}:collect", Verb::kUpdate, "memberclusters", kOptions,
            Run::kPool, CollectCluster);
  table.Add(kPost, "/v1/memberclusters/{name}:drain", Verb::kUpdate, "memberclusters", kOptions,
            Run::kPool, DrainCluster);
  table.Add(kPost, "/v1/simulate", Verb::kGet, "simulations", kMany, Run::kPool, Simulate);
}

// The paths of a resource: its collection, one object, and the object's status.
void AddCollection(Table& table, const char* collection, const char* object, const char* status) {
  table.Add(kGet, collection, Verb::kList, "objects", 0, Run::kPool, KubeList);
  table.Add(kPost, collection, Verb::kCreate, "objects", kManifest, Run::kPool, KubeCreate);
  table.Add(kGet, object, Verb::kGet, "objects", 0, Run::kPool, KubeGet);
  table.Add(kPut, object, Verb::kUpdate, "objects", kManifest, Run::kPool, KubeWrite);
  table.Add(kPatch, object, Verb::kUpdate, "objects", kManifest, Run::kPool, KubeWrite);
  table.Add(kDelete, object, Verb::kDelete, "objects", kOptions, Run::kPool, KubeDelete);
  table.Add(kGet, status, Verb::kGet, "objects", 0, Run::kPool, KubeGet);
  table.Add(kPut, status, Verb::kUpdate, "objects", kManifest, Run::kPool, KubeWriteStatus);
  table.Add(kPatch, status, Verb::kUpdate, "objects", kManifest, Run::kPool, KubeWriteStatus);
}

void AddKubernetes(Table& table) {
  table.AddOpen("/api", "discovery", Run::kInline, ApiVersions);
  table.AddOpen("/apis", "discovery", Run::kInline, ApiGroups);
  table.AddOpen("/apis/{group}", "discovery", Run::kInline, ApiGroup);
  table.AddOpen("/api/v1", "discovery", Run::kInline, ApiResources);
  table.AddOpen("/apis/{group}/{version}", "discovery", Run::kInline, ApiResources);
  AddCollection(table, "/api/v1/{plural}", "/api/v1/{plural}/{name}",
                "/api/v1/{plural}/{name}/status");
  AddCollection(table, "/api/v1/namespaces/{namespace}/{plural}",
                "/api/v1/namespaces/{namespace}/{plural}/{name}",
                "/api/v1/namespaces/{namespace}/{plural}/{name}/status");
  AddCollection(table, "/apis/{group}/{version}/{plural}",
                "/apis/{group}/{version}/{plural}/{name}",
                "/apis/{group}/{version}/{plural}/{name}/status");
  AddCollection(table, "/apis/{group}/{version}/namespaces/{namespace}/{plural}",
                "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}",
                "/apis/{group}/{version}/namespaces/{namespace}/{plural}/{name}/status");
}

}  // namespace

std::vector<Route> MusterRoutes(ApiContext& api) {
  Table table(api);
  AddSystem(table);
  AddJobs(table);
  AddAdmin(table);
  AddKubernetes(table);
  return table.Take();
}

}  // namespace muster::rest
