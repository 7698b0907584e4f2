// Edits of configuration objects. Apply carries out a whole command or nothing:
//
// 1. Each change is applied, in order, to a draft: a copy of the configuration and of the table of
//    objects. Preconditions (versions, existence), removal rules and the readers of
//    schedd/shapes/config may refuse it, and then the error names the change and nothing has
//    happened.
// 2. With `dry_run` the outcomes are returned and the draft is dropped.
// 3. Otherwise the objects are stamped with the numbers of their events and written with the open
//    transaction, with audit rows, and the draft becomes the live configuration (Take,
//    take_config.cc).
//
// A manifest that is equal to the stored one changes nothing, not even the version. The
// configuration's version is the number of its last event.
#include "schedd/engine/configure/configuration.h"

#include <algorithm>

#include "schedd/engine/configure/audit_details.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

// The configuration and the objects as they will be after the command.
struct ConfigDraft {
  std::shared_ptr<ConfigView> config;
  std::shared_ptr<ObjectTable> objects;
};

// Puts the index of the change in front of each field of the error: `documents[2].spec.cohort`.
Error At(std::size_t index, Error error) {
  const std::string document = "documents[" + std::to_string(index) + "]";
  if (error.fields.empty()) error.fields.push_back({"", error.detail});
  for (FieldError& field : error.fields) {
    field.field = field.field.empty() ? document : document + "." + field.field;
  }
  return error;
}

// "ClusterQueue team-a" or "LocalQueue ml/train", for sentences.
std::string NameOf(const ObjectChange& change) {
  std::string name = shapes::InfoOf(change.kind).name;
  name += " ";
  if (!change.ns.empty()) name += change.ns + "/";
  return name + change.name;
}

// True if the manifests differ in metadata and status at most: then the generation stays
// (metav1.ObjectMeta).
bool SameSpec(const std::string& a, const std::string& b) {
  auto left = ParseJson(a), right = ParseJson(b);
  if (!left.ok() || !right.ok() || !left->is_object() || !right->is_object()) return false;
  left->as_object().erase("metadata");
  right->as_object().erase("metadata");
  left->as_object().erase("status");
  right->as_object().erase("status");
  return *left == *right;
}

// `now` is the object before this change; null if there is none. Version 0 means that the client
// does not care.
Status CheckPreconditions(const ObjectChange& change, const ObjectPtr& now) {
  if (now == nullptr) {
    if (change.remove || change.must_exist) return NotFound(NameOf(change) + " does not exist");
    if (change.expected_resource_version != 0) return Aborted(NameOf(change) + " has been deleted");
    return Done{};
  }
  if (change.must_not_exist) return AlreadyExists(NameOf(change) + " already exists");
  if (change.expected_resource_version != 0 &&
      change.expected_resource_version != now->resource_version) {
    return Aborted(NameOf(change) + " has been changed since it was read: its resourceVersion is " +
                   std::to_string(now->resource_version));
  }
  return Done{};
}

// Objects in a namespace go with it; they are added to `gone`. removal_rules.cc has made sure that
// no job of it is left.
void RemoveNamespaced(const std::string& ns, ConfigDraft* draft, std::vector<ObjectPtr>* gone) {
  const std::size_t first = gone->size();
  for (const auto& [key, object] : *draft->objects) {
    if (object->ns == ns) gone->push_back(object);
  }
  for (std::size_t i = first; i < gone->size(); ++i) {
    const StoredObject& object = *(*gone)[i];
    shapes::RemoveFrom(draft->config.get(), object.kind, ns, object.name);
    draft->objects->erase({object.kind, ns, object.name});
  }
}

// True if a change of such an object may change which amounts are charged to which queue.
bool MattersToQueues(ObjectKind kind) {
  return shapes::InfoOf(kind).concern == shapes::Concern::kQueues;
}

// The manifest with the stored status: a change without a status keeps it, as an update of the main
// resource does in Kubernetes.
std::string WithStatus(const ObjectChange& change, const ObjectPtr& now) {
  if (!shapes::HasStoredStatus(shapes::InfoOf(change.kind)) || now == nullptr)
    return change.manifest;
  auto before = ParseJson(now->manifest), after = ParseJson(change.manifest);
  if (!before.ok() || !after.ok() || !before->is_object() || !after->is_object())
    return change.manifest;
  const json::value* status = before->as_object().if_contains("status");
  if (status == nullptr || after->as_object().contains("status")) return change.manifest;
  after->as_object()["status"] = *status;
  return WriteJson(*after);
}

const json::array* TaintsIn(const json::value& member) {
  return FindArray(member, {"spec", "taints"});
}

// Stamps `timeAdded` into each NoExecute taint that has none: tolerationSeconds count from it (rule
// P32), also over a restart. A taint that was there before, and is equal but for the time, keeps
// its time.
std::string WithTaintTimes(const ObjectChange& change, const ObjectPtr& now, WallTime time) {
  constexpr const char* kTime = "timeAdded";
  auto after = ParseJson(change.manifest);
  if (!after.ok() || TaintsIn(*after) == nullptr) return change.manifest;
  const auto before =
      now == nullptr ? Result<json::value>(json::value()) : ParseJson(now->manifest);
  bool changed = false;
  for (json::value& taint : after->at("spec").at("taints").as_array()) {
    json::object* added = taint.if_object();
    if (added == nullptr || added->contains(kTime) || !added->contains("effect")) continue;
    if (added->at("effect") != "NoExecute") continue;
    (*added)[kTime] = FormatRfc3339(time);
    changed = true;
    if (!before.ok() || TaintsIn(*before) == nullptr) continue;
    for (const json::value& known : *TaintsIn(*before)) {
      json::object same = known.is_object() ? known.get_object() : json::object();
      const json::value since = same[kTime];
      same[kTime] = added->at(kTime);
      if (since.is_string() && same == *added) (*added)[kTime] = since;
    }
  }
  return changed ? WriteJson(*after) : change.manifest;
}

// The changed quotas of a ClusterQueue; "" for all other kinds.
std::string AuditDetail(const StoredObject& object, const ConfigView& before,
                        const ConfigView& after) {
  if (object.kind != ObjectKind::kClusterQueue) return "";
  const auto queue_of = [&](const ConfigView& config) {
    const auto found = config.cluster_queues.find(object.name);
    return found == config.cluster_queues.end() ? nullptr : &found->second;
  };
  return QuotaChanges(queue_of(before), queue_of(after));
}

// Creates or replaces one object in the draft. The uid, the creation time and, until WriteEdit, the
// version are those of the object before.
Result<AppliedObject> PutObject(const ObjectChange& asked, const ObjectPtr& now, WallTime time,
                                Random& random, ConfigDraft* draft) {
  ObjectChange change = asked;
  change.manifest = WithStatus(asked, now);
  if (change.kind == ObjectKind::kMemberCluster)
    change.manifest = WithTaintTimes(change, now, time);
  if (now != nullptr && now->manifest == change.manifest)
    return AppliedObject{now, ApplyOutcome::kUnchanged};
  const auto manifest = ParseJson(change.manifest);
  if (!manifest.ok()) return manifest.error();
  const Status applied = shapes::ApplyTo(draft->config.get(), change.kind, *manifest);
  if (!applied.ok()) return applied.error();
  auto object = std::make_shared<StoredObject>();
  object->kind = change.kind;
  object->ns = change.ns;
  object->name = change.name;
  object->manifest = change.manifest;
  object->uid = now == nullptr ? Uid::Make(random) : now->uid;
  object->creation_time = now == nullptr ? time : now->creation_time;
  object->generation =
      now == nullptr ? 1 : now->generation + (SameSpec(now->manifest, change.manifest) ? 0 : 1);
  object->resource_version = now == nullptr ? 0 : now->resource_version;
  draft->objects->insert_or_assign({change.kind, change.ns, change.name}, object);
  return AppliedObject{object, now == nullptr ? ApplyOutcome::kCreated : ApplyOutcome::kConfigured};
}

}  // namespace

Configuration::Configuration(EngineContext& context, CommitPipeline& commits, LiveConfig& config,
                             const Owners& owners)
    : context_(context),
      commits_(commits),
      config_(config),
      waiting_(owners.waiting),
      jobs_(owners.jobs),
      rows_(owners.rows),
      attempts_(owners.attempts),
      array_tasks_(owners.array_tasks),
      stand_ins_(owners.stand_ins),
      machines_(owners.machines),
      node_failures_(owners.node_failures),
      checks_(owners.checks),
      members_(owners.members),
      held_ends_(owners.held_ends),
      works_(owners.works) {}

// See the top of this file. `matters` and the sets after it collect what has to be done once for
// the whole command. Objects that go with a namespace are written before the objects of the
// command.
Result<std::vector<AppliedObject>> Configuration::Apply(const Actor& actor,
                                                        const std::vector<ObjectChange>& changes,
                                                        bool dry_run) {
  ConfigDraft draft{std::make_shared<ConfigView>(*config_.view()),
                    std::make_shared<ObjectTable>(*config_.objects())};
  std::vector<AppliedObject> outcomes;
  std::vector<std::int64_t> versions;  // of the objects before, one for each outcome
  std::vector<ObjectPtr> cascaded;
  bool matters = false;
  // Namespaces whose LimitRanges changed: their waiting jobs are measured again.
  std::set<std::string> bound;
  bool other_overhead = false;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const ObjectChange& change = changes[i];
    const auto found = draft.objects->find({change.kind, change.ns, change.name});
    const ObjectPtr now = found == draft.objects->end() ? nullptr : found->second;
    if (const Status status = CheckPreconditions(change, now); !status.ok())
      return At(i, status.error());
    if (change.remove) {
      if (const Status status = CheckRemoval(*draft.config, change); !status.ok())
        return At(i, status.error());
      shapes::RemoveFrom(draft.config.get(), change.kind, change.ns, change.name);
      draft.objects->erase({change.kind, change.ns, change.name});
      if (change.kind == ObjectKind::kNamespace) RemoveNamespaced(change.name, &draft, &cascaded);
      outcomes.push_back({now, ApplyOutcome::kDeleted});
    } else {
      auto put = PutObject(change, now, context_.clock.WallNow(), context_.random, &draft);
      if (!put.ok()) return At(i, put.error());
      outcomes.push_back(std::move(put).value());
    }
    versions.push_back(now == nullptr ? 0 : now->resource_version);
    if (outcomes.back().outcome == ApplyOutcome::kUnchanged) continue;
    matters = matters || MattersToQueues(change.kind);
    other_overhead = other_overhead || change.kind == ObjectKind::kRuntimeClass;
    if (change.kind == ObjectKind::kLimitRange) bound.insert(change.ns);
  }
  if (dry_run) return outcomes;
  std::vector<ObjectKey> changed = WriteCascade(cascaded);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    AppliedObject& one = outcomes[i];
    if (one.outcome == ApplyOutcome::kUnchanged) continue;
    one.object = WriteEdit(one);
    AddEditAudit(actor, one, versions[i], *draft.config);
    const ObjectKey key{one.object->kind, one.object->ns, one.object->name};
    // A later change of the same command may have removed the object again.
    if (one.outcome != ApplyOutcome::kDeleted && draft.objects->contains(key))
      draft.objects->insert_or_assign(key, one.object);
    changed.push_back(key);
  }
  if (!changed.empty()) {
    draft.config->version = commits_.last_seq();
    Take({std::move(draft.config), std::move(draft.objects), std::move(changed), matters});
    if (!bound.empty() || other_overhead) checks_.Recheck(bound, other_overhead);
  } else {
    AuditUnchanged(actor, outcomes);
  }
  return outcomes;
}

// Writes the removal of objects that went with their namespace. They have no audit row of their
// own: the namespace has one.
std::vector<ObjectKey> Configuration::WriteCascade(const std::vector<ObjectPtr>& gone) {
  std::vector<ObjectKey> keys;
  for (const ObjectPtr& object : gone) {
    commits_.AddEvent("ObjectDeleted", JobId{}, ObjectName(*object), "", "");
    keys.emplace_back(object->kind, object->ns, object->name);
    commits_.tx().objects[keys.back()] = {object, true};
  }
  return keys;
}

// `after`: the draft; the live configuration is still the one before.
void Configuration::AddEditAudit(const Actor& actor, const AppliedObject& one,
                                 std::int64_t old_version, const ConfigView& after) {
  const char* verb = one.outcome == ApplyOutcome::kDeleted   ? "delete"
                     : one.outcome == ApplyOutcome::kCreated ? "create"
                                                             : "update";
  commits_.AddAudit(actor, verb, ObjectName(*one.object),
                    AuditDetail(*one.object, *config_.view(), after), old_version,
                    one.object->resource_version);
}

// One row for the request, however many objects it has.
void Configuration::AuditUnchanged(const Actor& actor, const std::vector<AppliedObject>& outcomes) {
  if (actor.user.empty() || outcomes.empty()) return;
  const StoredObject& first = *outcomes.front().object;
  commits_.AddAudit(actor, "update", ObjectName(first),
                    std::to_string(outcomes.size()) + " objects are as asked for: no change",
                    first.resource_version, first.resource_version);
}

// Stamps the object with the number of its event as resource version, and writes it.
ObjectPtr Configuration::WriteEdit(const AppliedObject& one) {
  const bool removed = one.outcome == ApplyOutcome::kDeleted;
  auto object = std::make_shared<StoredObject>(*one.object);
  object->resource_version = commits_.AddEvent(removed ? "ObjectDeleted" : "ObjectApplied", JobId{},
                                               ObjectName(*object), "", "");
  commits_.tx().objects[{object->kind, object->ns, object->name}] = {object, removed};
  return object;
}

// An object that this version of the daemon cannot read stays in the table and in the database and
// means nothing; the rest goes on working.
std::pair<ConfigPtr, std::shared_ptr<const ObjectTable>> Configuration::Read(
    const std::vector<ObjectPtr>& objects, std::int64_t version) {
  auto config = std::make_shared<ConfigView>();
  auto table = std::make_shared<ObjectTable>();
  for (const ObjectPtr& object : objects) {
    table->insert_or_assign({object->kind, object->ns, object->name}, object);
    const auto manifest = ParseJson(object->manifest);
    const Status applied = manifest.ok() ? shapes::ApplyTo(config.get(), object->kind, *manifest)
                                         : Status(manifest.error());
    if (!applied.ok()) {
      Log(LogLevel::kError, "engine", "stored_object_unreadable",
          {{"reason", ObjectName(*object)}, {"err", applied.error().detail}});
    }
  }
  config->version = version;
  return {std::move(config), std::move(table)};
}

// A dry run has nothing to wait for.
void Configuration::Handle(ApplyCommand command) {
  const auto outcome = Apply(command.actor, command.changes, command.dry_run);
  if (!command.dry_run) return commits_.AnswerOutcome(std::move(command.done), outcome);
  commits_.Answer([done = std::move(command.done), outcome] { done(outcome); });
}

}  // namespace muster
