// Use cases: configuration objects, read with their status and changed as a set. Holds
// SchedulerService::GetObject, ListObjects, ObjectWithStatus, Warnings and ChangeObjects.
//
// An answer is the stored manifest with the metadata that an API server writes, the status derived
// from the view, and the served version that was asked for. What a status needs of all jobs is
// counted once per request (Totals), not once per object of a list. A change is validated against a
// copy of the configuration before one ApplyCommand carries all changes to the engine.
#include <algorithm>
#include <utility>

#include "api/service/actor.h"
#include "api/service/config_warnings.h"
#include "api/service/object_rights.h"
#include "api/service/object_status.h"
#include "api/service/object_versions.h"
#include "api/service/placement_governed.h"
#include "api/service/placement_status.h"
#include "api/service/post_command.h"
#include "api/service/resource_refs.h"
#include "api/service/rule_json.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"
#include "schedd/shapes/parts/canonical.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

void SetMetadata(const StoredObject& object, json::object* out) {
  json::object& metadata = MakeObjectAt(*out, "metadata");
  metadata["name"] = object.name;
  if (!object.ns.empty()) metadata["namespace"] = object.ns;
  metadata["uid"] = object.uid.ToString();
  metadata["resourceVersion"] = std::to_string(object.resource_version);
  metadata["generation"] = object.generation;
  metadata["creationTimestamp"] = FormatRfc3339(object.creation_time);
}

// The namespaces in which a caller may list objects of one kind. Each is asked for once.
class ListedNamespaces {
 public:
  ListedNamespaces(const auth::Authorizer& authorizer, const auth::Principal& who,
                   const shapes::KindInfo& info)
      : authorizer_(authorizer), who_(who), info_(info) {}
  bool Has(const std::string& ns) {
    const auto [answer, fresh] = answers_.try_emplace(ns, false);
    if (fresh) answer->second = authorizer_.Allows(who_, auth::Verb::kList, RefOf(info_, ns, ""));
    return answer->second;
  }
  bool Any(const ConfigView& config) {
    return std::any_of(config.namespaces.begin(), config.namespaces.end(),
                       [this](const auto& entry) { return Has(entry.first); });
  }

 private:
  const auth::Authorizer& authorizer_;
  const auth::Principal& who_;
  const shapes::KindInfo& info_;
  std::map<std::string, bool> answers_;
};

// True if the caller lists its own tokens and no others.
bool ListsOwn(const auth::Authorizer& authorizer, const auth::Principal& who,
              const shapes::KindInfo& info) {
  return info.kind == ObjectKind::kAccessToken &&
         !authorizer.Allows(who, auth::Verb::kList, RefOf(info, "", "")) &&
         authorizer.Allows(who, auth::Verb::kList, RefOf(info, "", "", kOwnSubresource));
}

// Counts over all jobs that the statuses of one request need; only those of the asked kind are
// filled.
struct Totals {
  LocalQueueTable local_queues;
  std::map<std::string, Amounts> unadmitted;  // by ClusterQueue
  GovernedJobs governed;
};

// `name` "" for a whole list.
Totals TotalsFor(const WorldView& view, ObjectKind kind, const std::string& ns,
                 const std::string& name) {
  Totals totals;
  if (kind == ObjectKind::kClusterResourcePlacement || kind == ObjectKind::kResourcePlacement)
    totals.governed = FindGoverned(view, kind, ns, name);
  if (kind == ObjectKind::kLocalQueue) totals.local_queues = CountLocalQueues(view, ns);
  if (kind == ObjectKind::kClusterQueue) totals.unadmitted = CountUnadmitted(view);
  return totals;
}

// What an aggregated ClusterRole collects (rule U3), where Kubernetes' controller would have
// written it; its stored manifest has none.
void ShowCollectedRules(const AccessTable& access, const std::string& name, json::object* out) {
  const Role* role = access.FindRole("", name);
  if (role == nullptr || !role->aggregated) return;
  json::array rules;
  for (const PolicyRule& rule : access.RulesOfRole("", name)) rules.push_back(RuleJson(rule));
  (*out)["rules"] = std::move(rules);
}

// The object as a Kubernetes API server would answer it. `version` "" keeps the stored version.
json::value Answer(const WorldView& view, const StoredObject& object, const Totals& totals,
                   const std::string& version) {
  Result<json::value> manifest = ParseJson(object.manifest);
  // Quantities are stored in canonical form; objects from before that rule may not have it.
  if (manifest.ok()) shapes::CanonicaliseQuantities(&*manifest);
  json::object out =
      manifest.ok() && manifest->is_object() ? manifest->get_object() : json::object();
  SetMetadata(object, &out);
  // The kinds whose entry has StatusWriter::kApi.
  switch (object.kind) {
    case ObjectKind::kNamespace:
      out["status"] = json::object{{"phase", "Active"}};
      break;
    case ObjectKind::kClusterQueue: {
      const auto found = totals.unadmitted.find(object.name);
      out["status"] = ClusterQueueStatus(
          view, object, found == totals.unadmitted.end() ? Amounts{} : found->second);
      break;
    }
    case ObjectKind::kCohort:
      out["status"] = CohortStatus(view, object);
      break;
    case ObjectKind::kMemberCluster:
      out["status"] = MemberClusterStatus(view, object);
      break;
    case ObjectKind::kLocalQueue: {
      const auto& counted = totals.local_queues;
      const auto found = counted.find({object.ns, object.name});
      out["status"] = LocalQueueStatus(view, object,
                                       found == counted.end() ? LocalQueueTotals{} : found->second);
      break;
    }
    case ObjectKind::kClusterResourcePlacement:
    case ObjectKind::kResourcePlacement: {
      const auto found = totals.governed.find({object.ns, object.name});
      out["status"] = PlacementStatus(
          view, object, found == totals.governed.end() ? std::vector<JobPtr>{} : found->second);
      break;
    }
    case ObjectKind::kClusterRole:
      ShowCollectedRules(*view.config->access, object.name, &out);
      break;
    default:
      break;  // kinds without a status, and those whose status is stored in the object
  }
  if (!version.empty()) ConvertVersion(object.kind, version, &out);
  return out;
}

}  // namespace

json::value SchedulerService::ObjectWithStatus(const StoredObject& object,
                                               const std::string& version) const {
  const WorldViewPtr view = engine_.View();
  return Answer(*view, object, TotalsFor(*view, object.kind, object.ns, object.name), version);
}

Result<json::value> SchedulerService::GetObject(const auth::Principal& who, ObjectKind kind,
                                                const std::string& ns, const std::string& name,
                                                const std::string& version, PathAsk ask) const {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  const WorldViewPtr before = engine_.View();
  const bool own = ask.subresource.empty() && before->config != nullptr &&
                   MayOwnToken(authorizer_, who, ask.verb, *before->config, kind, name);
  const Status allowed =
      own ? Status(Done{})
          : authorizer_.Authorize(who, ask.verb, RefOf(info, ns, name, ask.subresource));
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const ObjectTable& objects = *(*view)->objects;
  const auto found = objects.find({kind, info.namespaced ? ns : std::string(), name});
  if (found == objects.end()) {
    return NotFound(std::string(info.name) + " \"" + name + "\" not found" +
                    (info.namespaced ? " in namespace \"" + ns + "\"" : ""));
  }
  return Answer(**view, *found->second, TotalsFor(**view, kind, ns, name), version);
}

Result<std::vector<json::value>> SchedulerService::ListObjects(const auth::Principal& who,
                                                               ObjectKind kind,
                                                               const std::string& ns,
                                                               const std::string& version,
                                                               bool whole) const {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const bool own = ListsOwn(authorizer_, who, info);
  ListedNamespaces listed(authorizer_, who, info);
  // Asked by Allows, so that the trail has no refusal of a list that is answered.
  const bool filtered = !whole && info.namespaced && ns.empty() &&
                        !authorizer_.Allows(who, auth::Verb::kList, RefOf(info, "", "")) &&
                        listed.Any(*(*view)->config);
  if (!own && !filtered) {
    const Status allowed = authorizer_.Authorize(who, auth::Verb::kList, RefOf(info, ns, ""));
    if (!allowed.ok()) return allowed.error();
  }
  const Totals totals = TotalsFor(**view, kind, ns, "");
  std::string noted;  // the namespace whose list the authorizer has noted last
  std::vector<json::value> out;
  const ObjectTable& objects = *(*view)->objects;
  // The table is in the order of kind, namespace and name.
  for (auto it = objects.lower_bound({kind, "", ""}); it != objects.end(); ++it) {
    if (std::get<0>(it->first) != kind) break;
    const std::string& own_ns = std::get<1>(it->first);
    if (info.namespaced && !ns.empty() && own_ns != ns) continue;
    if (filtered && !listed.Has(own_ns)) continue;
    if (filtered && own_ns != noted) {
      // A read of Secrets has a row for each namespace that is shown.
      const Status shown = authorizer_.Authorize(who, auth::Verb::kList, RefOf(info, own_ns, ""));
      if (!shown.ok()) return shown.error();
      noted = own_ns;
    }
    if (own && !OwnsToken(*(*view)->config, who, kind, it->second->name)) continue;
    out.push_back(Answer(**view, *it->second, totals, version));
  }
  return out;
}

// Only queues, cohorts and namespaces have warnings; for other kinds the copy of the configuration
// is not made.
std::vector<std::string> SchedulerService::Warnings(const ObjectChange& change) const {
  const bool judged = change.kind == ObjectKind::kCohort ||
                      change.kind == ObjectKind::kClusterQueue ||
                      change.kind == ObjectKind::kNamespace;
  const Result<WorldViewPtr> view = ReadyView();
  if (!judged || change.remove || !view.ok()) return {};
  ConfigView config = *(*view)->config;
  ObjectChange normalised = change;
  if (!Normalise(&config, &normalised).ok()) return {};
  return ConfigWarnings(config, normalised.kind, normalised.name);
}

// Namespaces are judged after all changes, since one change may create the namespace of another.
// Errors of a single change have no `documents[0]` in their paths.
void SchedulerService::ChangeObjects(const auth::Principal& who, std::vector<ObjectChange> changes,
                                     bool dry_run, Callback<std::vector<AppliedObject>> done,
                                     auth::Verb replace) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  ConfigView config = *(*view)->config;
  std::vector<Error> errors;
  const auto refuse = [&](std::size_t index, const Error& error) {
    errors.push_back(changes.size() == 1 ? error : AtDocument(index, error));
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ObjectChange& change = changes[i];
    // The permission follows from what the change does.
    const Result<PutFence> fence =
        MayChange(authorizer_, who, *(*view)->config, *(*view)->objects, change, replace);
    if (!fence.ok()) return done(fence.error());
    const Status status = change.kind == ObjectKind::kMemberCluster
                              ? ChangeMember(*(*view)->objects, &config, &change)
                              : Normalise(&config, &change);
    if (!status.ok()) refuse(i, status.error());
    SetFence(*fence, &change);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Status status = NamespaceExists(config, changes[i]);
    if (!status.ok()) refuse(i, status.error());
  }
  if (!errors.empty()) return done(Combined(std::move(errors)));
  const Status granted =
      JudgeGrants(authorizer_, who, *(*view)->config, config, changes, engine_.CalendarNow());
  if (!granted.ok()) return done(granted.error());
  const Status quotas =
      JudgeQuotas(authorizer_, who, *(*view)->config, config, *(*view)->objects, &changes);
  if (!quotas.ok()) return done(quotas.error());
  ApplyCommand command;
  command.actor = ActorOf(who);
  const bool single = changes.size() == 1;
  command.changes = std::move(changes);
  command.dry_run = dry_run;
  PostCommand<std::vector<AppliedObject>>(
      engine_, std::move(command),
      [done = std::move(done), single](Result<std::vector<AppliedObject>> applied) {
    if (!applied.ok() && single) return done(OfOnlyDocument(applied.error()));
    done(std::move(applied));
      });
}

}  // namespace muster::api
