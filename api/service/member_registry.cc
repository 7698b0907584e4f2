// Use cases: members that are added and removed while the daemon runs. Holds
// SchedulerService::AddMember and RemoveMember.
//
// A member is added in three steps: the objects it needs are built and validated, the cluster is
// asked what it is and what Muster may do there (MemberProbe, blocking), and then the kubeconfig
// (as a Secret) and the MemberCluster are committed in one ApplyCommand. Nothing is stored if the
// cluster cannot be used, unless the caller forces it. A removal deletes both objects in one
// command; the engine refuses it while jobs are there. Configuration objects that placements
// brought to the member stay on it, as KubeFleet leaves them; the answer counts them.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/service/actor.h"
#include "api/service/post_command.h"
#include "api/service/registered_member.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"
#include "schedd/text/base64.h"

namespace muster::api {
namespace {

constexpr const char* kSecretKey = "kubeconfig";

// The name of the Secret that AddMember makes.
std::string SecretOf(const std::string& member) { return "muster-member-" + member; }

// Translates the paths of the object that is made into those of the request: "metadata.name" is
// "name".
Error OfRequest(Error error) {
  const auto reworded = [](std::string* text) {
    constexpr std::string_view kPrefix = "metadata.";
    if (text->starts_with(kPrefix)) text->erase(0, kPrefix.size());
  };
  reworded(&error.detail);
  for (FieldError& field : error.fields) reworded(&field.field);
  return error;
}

// A MemberCluster with the annotations of a registered member.
json::object ManifestOf(const NewMember& wanted) {
  const MemberDeclaration& member = wanted.declaration;
  json::object labels;
  for (const auto& [key, value] : wanted.labels) labels[key] = value;
  json::object annotations{
      {"muster.io/backend", "kubernetes"},
      {"muster.io/any-flavor", "true"},
      {"muster.io/cordoned", "false"},
      {kKubeconfigSecret, std::string(kSystemNamespace) + "/" + SecretOf(member.name)}};
  if (!member.context.empty()) annotations[kKubeconfigContext] = member.context;
  if (member.fast) annotations[kFastDispatch] = "true";
  return {{"apiVersion", "cluster.kubernetes-fleet.io/v1beta1"},
          {"kind", "MemberCluster"},
          {"metadata", json::object{{"name", member.name},
                                    {"labels", std::move(labels)},
                                    {"annotations", std::move(annotations)}}},
          {"spec", json::object{}}};
}

ObjectChange ChangeTo(ObjectKind kind, const std::string& ns, const std::string& name,
                      const json::value& manifest) {
  ObjectChange change;
  change.kind = kind;
  change.ns = ns;
  change.name = name;
  change.manifest = WriteJson(manifest);
  return change;
}

// The namespace if it is missing, the MemberCluster and its Secret. They are one change, so that a
// daemon that is killed has stored all of them or none.
Result<std::vector<ObjectChange>> ChangesFor(const WorldView& view, const NewMember& wanted) {
  const std::string& name = wanted.declaration.name;
  ConfigView config = *view.config;
  std::vector<ObjectChange> changes;
  if (!config.namespaces.contains(kSystemNamespace)) {
    changes.push_back(
        ChangeTo(ObjectKind::kNamespace, "", kSystemNamespace,
                 json::object{{"apiVersion", "v1"},
                              {"kind", "Namespace"},
                              {"metadata", json::object{{"name", kSystemNamespace}}}}));
  }
  changes.push_back(ChangeTo(ObjectKind::kMemberCluster, "", name, ManifestOf(wanted)));
  changes.back().must_not_exist = true;
  changes.push_back(ChangeTo(
      ObjectKind::kSecret, kSystemNamespace, SecretOf(name),
      json::object{
          {"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", json::object{{"name", SecretOf(name)}, {"namespace", kSystemNamespace}}},
          {"data", json::object{{kSecretKey, EncodeBase64(wanted.declaration.kubeconfig)}}}}));
  for (ObjectChange& change : changes) {
    const Status status = Normalise(&config, &change);
    if (!status.ok()) return OfRequest(status.error());
  }
  return changes;
}

// The refusal of a cluster that the probe found problems with.
Error Unusable(const std::string& name, const MemberReport& report) {
  Error error = InvalidArgument("the cluster cannot be member " + name +
                                " as it is; nothing was stored, and --force (force: true) adds it "
                                "all the same");
  for (const std::string& problem : report.problems)
    error.fields.push_back({"kubeconfig", problem});
  if (!report.role.empty()) error.fields.push_back({"clusterRole", report.role});
  return error;
}

// Counts the configuration objects that Muster applied to the member. An object without a recorded
// remote uid was never created there, or belongs to somebody else.
RemovedMember StayingOn(const WorldView& view, const std::string& cluster) {
  RemovedMember removed;
  for (const auto& [key, work] : view.works->works) {
    if (work->cluster != cluster) continue;
    const auto ours =
        std::count_if(work->manifests.begin(), work->manifests.end(),
                      [](const ManifestStatus& one) { return !one.remote_uid.empty(); });
    removed.objects += static_cast<std::size_t>(ours);
    removed.placements += ours > 0 ? 1 : 0;
  }
  return removed;
}

}  // namespace

void SchedulerService::AddMember(const auth::Principal& who, const NewMember& wanted,
                                 Callback<AddedMember> done) {
  const std::string& name = wanted.declaration.name;
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kCreate, MemberRef(""));
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  if (probe_ == nullptr)
    return done(Error{Code::kUnimplemented, "this daemon takes no members while it runs"});
  if ((*view)->config->member_clusters.contains(name))
    return done(AlreadyExists("member cluster " + name + " exists"));
  Result<std::vector<ObjectChange>> changes = ChangesFor(**view, wanted);
  if (!changes.ok()) return done(changes.error());
  // The probe holds this thread for as long as the cluster needs to answer, so only one runs at a
  // time. The lock is released before each answer, so that a caller may add the next member as soon
  // as it has one.
  if (!probing_.TryLock())
    return done(Overloaded("another member cluster is being added; try again", 2000));
  MutexLock alone(probing_, std::adopt_lock);
  Result<MemberReport> report = probe_->Ask(wanted.declaration);
  if (!report.ok()) {
    alone.Unlock();
    return done(report.error());
  }
  // A member that was added just now has not reported its incarnation to the view yet, so the ones
  // added by this process are compared as well: two names for one cluster are a problem.
  const WorldViewPtr now = engine_.View();
  for (const auto& [other, incarnation] : added_) {
    if (incarnation != report->incarnation || !report->problems.empty()) continue;
    if (now->config->member_clusters.contains(other))
      report->problems.push_back("it is member cluster " + other + " already");
  }
  const bool refused = !report->problems.empty() && !wanted.force;
  if (!refused && !report->incarnation.empty()) added_[name] = report->incarnation;
  alone.Unlock();
  if (refused) return done(Unusable(name, *report));
  ApplyCommand command;
  command.actor = ActorOf(who);
  command.changes = std::move(*changes);
  PostCommand<std::vector<AppliedObject>>(
      engine_, std::move(command),
      [done = std::move(done), report = std::move(*report),
       name](const Result<std::vector<AppliedObject>>& applied) {
    if (!applied.ok()) return done(applied.error());
    done(AddedMember{name, report});
      });
}

void SchedulerService::RemoveMember(const auth::Principal& who, const std::string& cluster,
                                    bool force, Callback<RemovedMember> done) {
  const Status allowed = authorizer_.Authorize(who, auth::Verb::kDelete, MemberRef(cluster));
  if (!allowed.ok()) return done(allowed.error());
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const ObjectTable& objects = *(*view)->objects;
  const auto member = objects.find({ObjectKind::kMemberCluster, "", cluster});
  if (member == objects.end())
    return done(NotFound("member cluster " + cluster + " does not exist"));
  const std::string secret = KubeconfigSecretOf(*member->second);
  // A member of a flag would come back with the next start of the daemon.
  if (secret.empty()) {
    return done(Error{Code::kFailedPrecondition, "member cluster " + cluster +
                                                     " is declared by a flag of the daemon; it "
                                                     "goes with the flag"});
  }
  ApplyCommand command;
  command.actor = ActorOf(who);
  const auto remove = [&command](ObjectKind kind, const std::string& ns, const std::string& name) {
    ObjectChange change;
    change.kind = kind;
    change.ns = ns;
    change.name = name;
    change.remove = true;
    command.changes.push_back(std::move(change));
  };
  remove(ObjectKind::kMemberCluster, "", cluster);
  // Only the Secret that AddMember made goes: one of another name may belong to somebody else.
  if (secret == std::string(kSystemNamespace) + "/" + SecretOf(cluster) &&
      objects.contains({ObjectKind::kSecret, kSystemNamespace, SecretOf(cluster)})) {
    remove(ObjectKind::kSecret, kSystemNamespace, SecretOf(cluster));
  }
  // The removal itself; with `force` it runs after the fence.
  const auto go =
      [this, command = std::move(command), cluster, done](const Result<std::size_t>&) mutable {
    const RemovedMember removed = StayingOn(*engine_.View(), cluster);
    PostCommand<std::vector<AppliedObject>>(
        engine_, std::move(command),
        [done, removed](const Result<std::vector<AppliedObject>>& applied) {
      if (!applied.ok()) return done(OfOnlyDocument(applied.error()));
      done(removed);
        });
  };
  if (!force) {
    auto now = go;
    return now(std::size_t{0});
  }
  // A fence gives up the attempts on a member that does not answer. If the member answers, the
  // fence is refused and the removal is tried all the same: its own refusal says what still runs.
  FenceCommand fence{ActorOf(who), cluster, {}};
  fence.whatever_policy = true;
  PostCommand<std::size_t>(engine_, std::move(fence), go);
}

}  // namespace muster::api
