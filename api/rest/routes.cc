// All routes of the daemon in one list. Every route goes through Bind, which finds the caller (rule
// U11) and, for routes added with Add, refuses with 503 until the daemon has recovered and leads,
// or sends the request to the daemon that does (elsewhere.h);
// routes added with AddPath answer at any time to those who may read the path, and those of
// AddPublic to everybody. No handler runs for a request that Admit refuses.
//
// Handlers that only read the view run inline on the reading thread; handlers that may read the
// store or parse long bodies run on the pool, and so do requests with credentials that another
// program is asked about. Those that wait for a member cluster have a pool of their own.
#include "api/rest/routes.h"

#include "api/auth/access_rules.h"
#include "api/rest/audited.h"
#include "api/rest/elsewhere.h"
#include "api/rest/handlers_access.h"
#include "api/rest/handlers_admin.h"
#include "api/rest/handlers_audit.h"
#include "api/rest/handlers_batch.h"
#include "api/rest/handlers_jobs.h"
#include "api/rest/handlers_manifest.h"
#include "api/rest/handlers_members.h"
#include "api/rest/handlers_nominate.h"
#include "api/rest/handlers_page.h"
#include "api/rest/handlers_quota.h"
#include "api/rest/handlers_script.h"
#include "api/rest/handlers_signals.h"
#include "api/rest/handlers_simulate.h"
#include "api/rest/handlers_steps.h"
#include "api/rest/handlers_streams.h"
#include "api/rest/handlers_submit.h"
#include "api/rest/handlers_system.h"
#include "api/rest/kube_changes.h"
#include "api/rest/kube_discovery.h"
#include "api/rest/kube_objects.h"
#include "api/rest/kube_openapi.h"
#include "api/rest/kube_reviews.h"
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

// How a route is bound: who may come, and whether the daemon must be ready.
struct Terms {
  Access access = Access::kService;
  bool needs_world = true;
  bool leaders_alone = false;  // a read that no copy answers
};

Result<Caller> CallerOf(ApiContext& api, const Request& request) {
  auth::Evidence evidence;
  evidence.peer = request.peer.get();
  evidence.authorization = &request.authorization;
  evidence.as_user = request.as_user;
  evidence.as_groups.assign(request.as_groups.begin(), request.as_groups.end());
  evidence.method = request.raw_method;
  evidence.target = request.raw_target;
  evidence.body = request.body;
  evidence.may_wait = request.may_wait;
  evidence.request_id = request.request_id;
  evidence.audit = &api.service.audit();
  return api.authenticator.Authenticate(evidence);
}

// The caller of a request, empty on a public route. Errors: it is not known, sends too many
// requests, may not read the path, or, if the route needs the world, a daemon that is not ready.
Result<Caller> Admit(ApiContext& api, const Request& request, Terms terms) {
  if (terms.access == Access::kPublic) return Caller{};
  Result<Caller> who = CallerOf(api, request);
  if (!who.ok()) return who;
  if (const Status rate = api.service.TakeRate(*who); !rate.ok()) return rate.error();
  const Status ready = api.service.Readable();
  if (terms.needs_world && !ready.ok()) return ready.error();
  if (terms.access != Access::kPath) return who;
  std::string path;
  for (const std::string& segment : request.segments) path += "/" + segment;
  const Status allowed =
      api.service.authorizer().AuthorizePath(*who, Verb::kGet, path.empty() ? "/" : path);
  // Before the roles are read nobody but an administrator may do anything: that passes.
  if (!allowed.ok()) return ready.ok() ? allowed.error() : ready.error();
  return who;
}

// What a daemon that does not lead sends elsewhere, it sends before it asks who the caller is: its
// copy may not know a new token yet.
std::optional<Response> SentElsewhere(ApiContext& api, const Request& request, Terms terms) {
  return terms.needs_world ? Elsewhere(api, request, terms.leaders_alone) : std::nullopt;
}

// Makes a route's handler out of a function: admits the caller, then calls the function.
SyncHandler Bind(ApiContext& api, SyncFunction handler, Terms terms) {
  return [&api, handler, terms](Request& request) {
    const std::optional<Monotonic> copied = Copied(api);
    if (auto sent = SentElsewhere(api, request, terms)) return std::move(*sent);
    const Result<Caller> who = Admit(api, request, terms);
    if (!who.ok()) NoteNotAdmitted(api, request.peer.get(), request, who.error());
    if (!who.ok()) return ErrorResponse(request, who.error());
    Response response = Audited(api, *who, request, handler(api, *who, request));
    if (terms.needs_world) MarkCopy(api, copied, &response);
    return response;
  };
}
AsyncHandler Bind(ApiContext& api, AsyncFunction handler, Terms terms) {
  return [&api, handler, terms](Request& request, Responder respond) {
    if (auto sent = SentElsewhere(api, request, terms))
      return respond([response = std::move(*sent)] { return response; });
    const Result<Caller> who = Admit(api, request, terms);
    if (who.ok())
      return handler(api, *who, request, Audited(api, *who, request, std::move(respond)));
    NoteNotAdmitted(api, request.peer.get(), request, who.error());
    respond([kubernetes = request.IsKubernetesPath(), error = who.error()] {
      return ErrorResponse(kubernetes, error);
    });
  };
}

// The method and pattern of a route, which must have a row in the table of access rules: the text
// of a route without one does not compile.
struct Way {
  std::size_t place = 0;
  consteval Way(const char* text) : place(auth::PlaceOfAccessRule(text)) {
    if (place == std::size(auth::kAccessRules))
      throw "the route has no row in api/auth/access_rules.h";
  }
  const auth::AccessRule& rule() const { return auth::kAccessRules[place]; }
};

Method MethodOf(std::string_view way) {
  for (const Method method : {Method::kGet, Method::kPost, Method::kPut, Method::kPatch}) {
    if (way.starts_with(MethodName(method)) && way[MethodName(method).size()] == ' ') return method;
  }
  return Method::kDelete;
}

// Collects the routes. What a route asks for is in its row of the table of access rules.
class Table {
 public:
  explicit Table(ApiContext& api) : api_(api) {}
  // A route that reads or changes the world: all routes but those of AddPath and AddPublic.
  template <class Handler>
  void Add(Way way, std::size_t body, Run run, Handler handler) {
    Push(way, body, run, handler, {Access::kService, true});
  }
  // Of the route that was added last, which runs inline: such requests run on the pool.
  void OnPoolIf(bool (*test)(const Request& request)) {
    auto& may_block = routes_.back().may_block;
    may_block = [known = may_block, test](const Request& request) {
      return test(request) || known(request);
    };
  }
  // Of the route that was added last, which runs on the pool: such requests look at all jobs.
  void IsTableIf(bool (*test)(const Request& request)) { routes_.back().is_table = test; }
  // A route that answers about the daemon itself or the API, also while the daemon is not ready.
  void AddPath(Way way, Run run, SyncFunction handler) {
    Push(way, 0, run, handler, {Access::kPath, false});
  }
  // The same for everybody.
  void AddPublic(Way way, Run run, SyncFunction handler) {
    Push(way, 0, run, handler, {Access::kPublic, false});
  }
  // A question of the caller about itself.
  template <class Handler>
  void AddKnown(Way way, std::size_t body, Handler handler) {
    Push(way, body, Run::kPool, handler, {Access::kKnown, true});
  }
  std::vector<Route> Take() { return std::move(routes_); }

 private:
  template <class Handler>
  void Push(Way way, std::size_t body, Run run, Handler handler, Terms terms) {
    const std::string_view text = way.rule().way;
    terms.leaders_alone = IsLeadersAlone(text);
    routes_.push_back({MethodOf(text),
                       std::string(text.substr(text.find(' ') + 1)),
                       way.rule().verb,
                       std::string(way.rule().resource),
                       body,
                       run,
                       Bind(api_, handler, terms),
                       terms.needs_world,
                       terms.access,
                       {}});
    if (run != Run::kInline || terms.access == Access::kPublic) return;
    routes_.back().may_block = [&api = api_](const Request& request) {
      return api.authenticator.MayBlock(request.authorization, request.peer.get());
    };
  }

  ApiContext& api_;
  std::vector<Route> routes_;
};

// Body limits: one manifest, many manifests, and DeleteOptions or the "{}" that some clients send
// to a verb.
constexpr std::size_t kManifest = limits::kManifestBytes, kMany = limits::kRequestBytes;
constexpr std::size_t kOptions = 16 << 10;

// The daemon itself; AddJobs, AddAdmin and AddKubernetes have the other groups.
void AddSystem(Table& table) {
  table.AddPath("GET /", Run::kInline, Paths);
  table.AddPublic("GET /livez", Run::kInline, Live);
  table.AddPublic("GET /healthz", Run::kInline, Live);
  table.AddPublic("GET /readyz", Run::kInline, Ready);
  // The web page: every address of a view is the page itself, which reads the rest of it.
  table.AddPublic("GET /ui", Run::kInline, PageIndex);
  table.AddPublic("GET /ui/{view}", Run::kInline, PageIndex);
  table.AddPublic("GET /ui/{view}/{item}", Run::kInline, PageIndex);
  table.AddPublic("GET /ui/{view}/{item}/{part}", Run::kInline, PageIndex);
  table.AddPublic("GET /ui/providers", Run::kInline, PageProviders);
  table.AddPublic("GET /ui/assets/{file}", Run::kInline, PageAsset);
  table.AddPath("GET /metrics", Run::kPool, MetricsText);
  table.AddPath("GET /openapi.yaml", Run::kInline, OpenApiText);
  table.AddPath("GET /version", Run::kInline, Version);
  table.AddPath("GET /v1/status", Run::kInline, ServerStatus);
}

void AddJobs(Table& table) {
  table.Add("POST /v1/namespaces/{namespace}/jobs", kManifest, Run::kInline, SubmitJob);
  table.OnPoolIf(SubmitMayBlock);
  table.Add("POST /v1/namespaces/{namespace}/jobs:batch", kMany, Run::kPool, SubmitBatch);
  table.Add("POST /v1/apply", kMany, Run::kPool, ApplyDocuments);
  table.Add("GET /v1/jobs", 0, Run::kPool, ListJobs);
  table.IsTableIf(IsTable);
  table.Add("GET /v1/jobcounts", 0, Run::kTable, CountJobs);
  table.Add("GET /v1/jobs/{id}", 0, Run::kPool, GetJob);
  table.Add("DELETE /v1/jobs/{id}", kOptions, Run::kPool, CancelJob);
  table.Add("POST /v1/jobs/{id}:hold", kOptions, Run::kPool, HoldJob);
  table.Add("POST /v1/jobs/{id}:release", kOptions, Run::kPool, ReleaseJob);
  table.Add("POST /v1/jobs/{id}:requeue", kOptions, Run::kPool, RequeueJob);
  table.Add("POST /v1/jobs/{id}:suspend", kOptions, Run::kPool, SuspendJob);
  table.Add("POST /v1/jobs/{id}:resume", kOptions, Run::kPool, ResumeJob);
  table.Add("POST /v1/jobs/{id}:keep", kOptions, Run::kPool, KeepJob);
  table.Add("POST /v1/jobs/{id}:update", kOptions, Run::kPool, UpdateJob);
  table.Add("POST /v1/jobs/{id}:nominate", kOptions, Run::kPool, NominateClusters);
  table.Add("POST /v1/jobs/{id}:signal", kOptions, Run::kPool, SignalJob);
  table.Add("POST /v1/jobs/{id}:notify", kOptions, Run::kPool, NotifyJob);
  table.Add("GET /v1/jobs/{id}/explain", 0, Run::kTable, ExplainJob);
  table.Add("GET /v1/jobs/{id}/events", 0, Run::kPool, JobEvents);
  table.Add("GET /v1/jobs/{id}/script", 0, Run::kPool, JobScript);
  table.Add("GET /v1/jobs/{id}/manifest", 0, Run::kPool, JobManifest);
  table.Add("GET /v1/jobs/{id}/pods", 0, Run::kMember, JobPods);
  table.Add("GET /v1/jobs/{id}/steps", 0, Run::kPool, JobSteps);
  table.Add("GET /v1/jobs/{id}/member-events", 0, Run::kMember, JobMemberEvents);
  table.Add("GET /v1/jobs/{id}/logs", 0, Run::kMember, JobLogs);
  table.Add("GET /v1/events", 0, Run::kPool, FollowEvents);
  table.Add("GET /v1/steps", 0, Run::kPool, ListSteps);
  table.Add("GET /v1/accounting", 0, Run::kPool, Accounting);
}

void AddAdmin(Table& table) {
  table.Add("GET /v1/audit", 0, Run::kPool, ListAudit);
  table.Add("GET /v1/quotas", 0, Run::kPool, ListQuotas);
  table.Add("POST /v1/quotas", kOptions, Run::kPool, EditQuota);
  table.Add("GET /v1/clusterqueues/{name}/order", 0, Run::kTable, QueueOrder);
  table.Add("POST /v1/memberclusters", kManifest, Run::kPool, AddCluster);
  table.Add("DELETE /v1/memberclusters/{name}", kOptions, Run::kPool, RemoveCluster);
  table.Add("GET /v1/memberclusters/{name}/facts", 0, Run::kPool, ClusterFacts);
  table.Add("POST /v1/memberclusters/{name}:cordon", kOptions, Run::kPool, CordonCluster);
  table.Add("POST /v1/memberclusters/{name}:uncordon", kOptions, Run::kPool, UncordonCluster);
  table.Add("POST /v1/memberclusters/{name}:fence", kOptions, Run::kPool, FenceCluster);
  table.Add("POST /v1/memberclusters/{name}:collect", kOptions, Run::kPool, CollectCluster);
  table.Add("POST /v1/memberclusters/{name}:drain", kOptions, Run::kPool, DrainCluster);
  table.AddKnown("GET /v1/whoami", 0, WhoAmI);
  table.Add("POST /v1/tokens", kOptions, Run::kPool, CreateToken);
  table.Add("POST /v1/simulate", kMany, Run::kPool, Simulate);
}

// The paths of a resource: its collection, one object, and the object's status.
struct ObjectWays {
  Way list, create, get, put, patch, remove, get_status, put_status, patch_status;
};
#define MUSTER_OBJECT_WAYS(PREFIX)                                                        \
  ObjectWays {                                                                            \
    "GET " PREFIX "{plural}", "POST " PREFIX "{plural}", "GET " PREFIX "{plural}/{name}", \
        "PUT " PREFIX "{plural}/{name}", "PATCH " PREFIX "{plural}/{name}",               \
        "DELETE " PREFIX "{plural}/{name}", "GET " PREFIX "{plural}/{name}/status",       \
        "PUT " PREFIX "{plural}/{name}/status", "PATCH " PREFIX "{plural}/{name}/status"  \
  }

void AddCollection(Table& table, const ObjectWays& ways) {
  table.Add(ways.list, 0, Run::kPool, KubeList);
  table.Add(ways.create, kManifest, Run::kPool, KubeCreate);
  table.Add(ways.get, 0, Run::kPool, KubeGet);
  table.Add(ways.put, kManifest, Run::kPool, KubeWrite);
  table.Add(ways.patch, kManifest, Run::kPool, KubeWrite);
  table.Add(ways.remove, kOptions, Run::kPool, KubeDelete);
  table.Add(ways.get_status, 0, Run::kPool, KubeGet);
  table.Add(ways.put_status, kManifest, Run::kPool, KubeWriteStatus);
  table.Add(ways.patch_status, kManifest, Run::kPool, KubeWriteStatus);
}

// Questions about identity and rights. Those about oneself need no right.
void AddReviews(Table& table) {
  table.AddKnown("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", kManifest, ReviewSelf);
  table.AddKnown("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", kManifest,
                 ReviewSelfAccess);
  table.AddKnown("POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", kManifest,
                 ReviewSelfRules);
  table.Add("POST /apis/authentication.k8s.io/v1/tokenreviews", kManifest, Run::kPool, ReviewToken);
  table.Add("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", kManifest, Run::kPool,
            ReviewAccess);
  table.Add("POST /apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews",
            kManifest, Run::kPool, ReviewAccess);
}

void AddKubernetes(Table& table) {
  table.AddPath("GET /api", Run::kInline, ApiVersions);
  table.AddPath("GET /apis", Run::kInline, ApiGroups);
  table.AddPath("GET /apis/{group}", Run::kInline, ApiGroup);
  table.AddPath("GET /api/v1", Run::kInline, ApiResources);
  table.AddPath("GET /apis/{group}/{version}", Run::kInline, ApiResources);
  table.AddPath("GET /openapi/v3", Run::kInline, OpenApiIndex);
  table.AddPath("GET /openapi/v3/api/v1", Run::kInline, OpenApiOfGroup);
  table.AddPath("GET /openapi/v3/apis/{group}/{version}", Run::kInline, OpenApiOfGroup);
  AddCollection(table, MUSTER_OBJECT_WAYS("/api/v1/"));
  AddCollection(table, MUSTER_OBJECT_WAYS("/api/v1/namespaces/{namespace}/"));
  AddCollection(table, MUSTER_OBJECT_WAYS("/apis/{group}/{version}/"));
  AddCollection(table, MUSTER_OBJECT_WAYS("/apis/{group}/{version}/namespaces/{namespace}/"));
}

}  // namespace

std::vector<Route> MusterRoutes(ApiContext& api) {
  Table table(api);
  AddSystem(table);
  AddJobs(table);
  AddAdmin(table);
  AddReviews(table);
  AddKubernetes(table);
  return table.Take();
}

}  // namespace muster::rest
