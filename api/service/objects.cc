// Use cases: configuration objects, read with their status and changed as a set. Holds
// SchedulerService::GetObject, ListObjects, ObjectWithStatus, Warnings and ChangeObjects.
//
// An answer is the stored manifest with the metadata that an API server writes, the status derived
// from the view, and the served version that was asked for. What a status needs of all jobs is
// counted once per request (Totals), not once per object of a list. A change is validated against a
// copy of the configuration before one ApplyCommand carries all changes to the engine.
#include <utility>

#include "api/service/config_warnings.h"
#include "api/service/object_status.h"
#include "api/service/object_versions.h"
#include "api/service/placement_governed.h"
#include "api/service/placement_status.h"
#include "api/service/post_command.h"
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
                                                const std::string& version) const {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  const Status allowed = Allow(who, auth::Verb::kGet, info.plural, ns, name);
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
                                                               const std::string& version) const {
  const shapes::KindInfo& info = shapes::InfoOf(kind);
  const Status allowed = Allow(who, auth::Verb::kList, info.plural, ns, "");
  if (!allowed.ok()) return allowed.error();
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const Totals totals = TotalsFor(**view, kind, ns, "");
  std::vector<json::value> out;
  const ObjectTable& objects = *(*view)->objects;
  // The table is in the order of kind, namespace and name.
  for (auto it = objects.lower_bound({kind, "", ""}); it != objects.end(); ++it) {
    if (std::get<0>(it->first) != kind) break;
    if (info.namespaced && !ns.empty() && std::get<1>(it->first) != ns) continue;
    out.push_back(Answer(**view, *it->second, totals, version));
  }
  return out;
}

// Only queues and cohorts have warnings; for other kinds the copy of the configuration is not made.
std::vector<std::string> SchedulerService::Warnings(const ObjectChange& change) const {
  const bool judged =
      change.kind == ObjectKind::kCohort || change.kind == ObjectKind::kClusterQueue;
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
                                     bool dry_run, Callback<std::vector<AppliedObject>> done) {
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
    const auth::Verb verb = change.remove           ? auth::Verb::kDelete
                            : change.must_not_exist ? auth::Verb::kCreate
                                                    : auth::Verb::kUpdate;
    const Status allowed =
        Allow(who, verb, shapes::InfoOf(change.kind).plural, change.ns, change.name);
    if (!allowed.ok()) return done(allowed.error());
    const Status status = change.kind == ObjectKind::kMemberCluster
                              ? ChangeMember(*(*view)->objects, &config, &change)
                              : Normalise(&config, &change);
    if (!status.ok()) refuse(i, status.error());
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Status status = NamespaceExists(config, changes[i]);
    if (!status.ok()) refuse(i, status.error());
  }
  if (!errors.empty()) return done(Combined(std::move(errors)));
  ApplyCommand command;
  command.actor = {who.user, who.method};
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
