// Makes the objects' manifests from the configuration and from what is stored, and posts all of
// them as one command.
#include "schedd/daemon/declared_objects.h"

#include <chrono>
#include <future>
#include <string_view>
#include <thread>

#include "api/service/registered_member.h"
#include "schedd/base/check.h"
#include "schedd/base/quantity.h"
#include "schedd/daemon/local_members.h"
#include "schedd/shapes/config/default_access.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

// How long the start tries to declare the member clusters.
constexpr std::int64_t kDeclareWithinNs = 60 * kNanosPerSecond;

// Annotations that administrators write into a member's object (api/service/validate.h).
constexpr const char* kEdited[] = {"muster.io/nodes", "muster.io/properties", "muster.io/datasets",
                                   "muster.io/draining"};

// The object of a member as it is stored; null if there is none.
json::value StoredMember(const WorldView& world, const std::string& cluster) {
  const auto stored = world.objects->find({ObjectKind::kMemberCluster, "", cluster});
  if (stored == world.objects->end()) return nullptr;
  const auto manifest = ParseJson(stored->second->manifest);
  return manifest.ok() ? *manifest : json::value();
}

// The MemberCluster object of a declared cluster, which `muster get memberclusters` shows. Capacity
// and labels come from the flags; a cordon, taints, machines, properties and data sets are the
// administrator's and outlive restarts.
ObjectChange MemberClusterChange(const DeclaredCluster& cluster, const char* backend,
                                 const DaemonConfig& declared, const WorldView& world) {
  const ConfigView& config = *world.config;
  json::object allocatable;
  for (const auto& [resource, amount] : cluster.allocatable) {
    allocatable[resource] = FormatQuantity(resource, amount);
  }
  json::object labels;
  for (const auto& [key, value] : cluster.labels) labels[key] = value;
  const auto known = config.member_clusters.find(cluster.name);
  const bool cordoned = known != config.member_clusters.end() && known->second.cordoned;
  json::object annotations{{"muster.io/backend", backend},
                           {"muster.io/cordoned", cordoned ? "true" : "false"},
                           {"muster.io/any-flavor", "true"},
                           {"muster.io/allocatable", WriteJson(allocatable)}};
  // Shown by `muster describe`: whether root's jobs run as root there.
  if (std::string_view(backend) == "local") {
    annotations["muster.io/root-jobs"] = RunsJobsOfRoot(declared, cluster) ? "submitter" : "never";
    if (!cluster.job_account.empty()) annotations["muster.io/job-account"] = cluster.job_account;
  }
  const json::value stored = StoredMember(world, cluster.name);
  const json::object& edited = ObjectOrEmpty(stored, {"metadata", "annotations"});
  for (const char* key : kEdited)
    if (const json::value* text = edited.if_contains(key)) annotations[key] = *text;
  const json::object manifest{
      {"apiVersion", "cluster.kubernetes-fleet.io/v1beta1"},
      {"kind", "MemberCluster"},
      {"metadata",
       {{"name", cluster.name}, {"labels", labels}, {"annotations", std::move(annotations)}}},
      {"spec", ObjectOrEmpty(stored, "spec")}};
  ObjectChange change;
  change.kind = ObjectKind::kMemberCluster;
  change.name = cluster.name;
  change.manifest = WriteJson(manifest);
  return change;
}

ObjectChange NamespaceChange(const std::string& name) {
  ObjectChange change;
  change.kind = ObjectKind::kNamespace;
  change.name = name;
  change.manifest = WriteJson(
      json::object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
  return change;
}

// The default roles and bindings, for an installation that has none (rule U8). Who deletes a
// default, or the binding that lets every account of this host in, has still other ClusterRoles, so
// that nothing comes back at the next start.
void AddDefaultAccess(const WorldView& world, bool local_only, std::vector<ObjectChange>* changes) {
  for (const ObjectKind kind : {ObjectKind::kClusterRole, ObjectKind::kClusterRoleBinding}) {
    const auto first = world.objects->lower_bound({kind, "", ""});
    if (first != world.objects->end() && first->second->kind == kind) return;
  }
  for (json::object& manifest : shapes::DefaultAccess(local_only)) {
    const auto parsed = shapes::ParseObject(json::value(std::move(manifest)));
    MUSTER_CHECK(parsed.ok());
    ObjectChange change;
    change.kind = parsed->kind;
    change.name = parsed->name;
    change.manifest = WriteJson(parsed->manifest);
    changes->push_back(std::move(change));
  }
}

Status TryDeclareObjects(Engine& engine, const Clock& clock, const DaemonConfig& config,
                         const std::stop_token& stop, Monotonic deadline) {
  ApplyCommand apply;
  apply.actor = {"musterd", "start"};
  const WorldViewPtr world = engine.View();
  if (!world->config->namespaces.contains("default"))
    apply.changes.push_back(NamespaceChange("default"));
  for (const auto& cluster : config.local_clusters)
    apply.changes.push_back(MemberClusterChange(cluster, "local", config, *world));
  for (const auto& cluster : config.simulated_clusters)
    apply.changes.push_back(MemberClusterChange(cluster, "simulated", config, *world));
  for (const auto& member : config.members) {
    const DeclaredCluster cluster{.name = member.name, .allocatable = {}, .labels = member.labels};
    apply.changes.push_back(MemberClusterChange(cluster, "kubernetes", config, *world));
  }
  AddDefaultAccess(*world, !HasRemoteMethod(config), &apply.changes);
  std::promise<Status> promise;
  apply.done = [&promise](Result<std::vector<AppliedObject>> result) {
    promise.set_value(result.ok() ? Status(Done{}) : Status(result.error()));
  };
  auto done = promise.get_future();
  // After a restart the inbox may be full of members' reports; the engine works them off.
  while (!engine.Post(ApplyCommand(apply))) {
    if (stop.stop_requested()) return Error{Code::kCancelled, "the start was given up"};
    if (clock.Now() >= deadline) return Internal("the engine refuses the member clusters");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return done.get();
}

}  // namespace

// Puts the objects of the declared member clusters. Meanwhile the lead may be lost and won again,
// and the database may go away and come back: that is no reason to give up a start.
Status DeclareObjects(Engine& engine, const Clock& clock, const DaemonConfig& config,
                      const std::stop_token& stop) {
  const Monotonic deadline = clock.Now() + kDeclareWithinNs;
  while (true) {
    const Status status = TryDeclareObjects(engine, clock, config, stop, deadline);
    if (status.ok() || status.error().code != Code::kUnavailable || clock.Now() >= deadline)
      return status;
    if (stop.stop_requested()) return Error{Code::kCancelled, "the start was given up"};
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void TellUnserved(Engine& engine, const dispatch::Dispatcher& dispatcher) {
  const WorldViewPtr world = engine.View();
  for (const auto& [name, member] : world->config->member_clusters) {
    if (dispatcher.BackendOf(name) != nullptr) continue;
    const auto stored = world->objects->find({ObjectKind::kMemberCluster, "", name});
    const bool registered =
        stored != world->objects->end() && !api::KubeconfigSecretOf(*stored->second).empty();
    // The fleet is about to serve it.
    if (registered) continue;
    FactsCommand command;
    command.facts.cluster = name;
    command.facts.healthy = false;
    command.facts.message = "no flag declares it to this daemon";
    if (!engine.Post(std::move(command)))
      Log(LogLevel::kWarning, "daemon", "member_not_declared", {{"cluster", name}});
  }
}

}  // namespace muster
