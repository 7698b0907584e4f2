// Configuration changes: all of a command or nothing, on a copy that becomes the world when every
// change fits.
#include <algorithm>

#include "schedd/engine/audit_details.h"
#include "schedd/engine/impl.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster {
namespace {

// One command's work: the configuration and the objects as they will be.
struct Draft {
  std::shared_ptr<ConfigView> config;
  std::shared_ptr<ObjectTable> objects;
};

Error At(std::size_t index, Error error) {
  const std::string document = "documents[" + std::to_string(index) + "]";
  if (error.fields.empty()) error.fields.push_back({"", error.detail});
  for (FieldError& field : error.fields) {
    field.field = field.field.empty() ? document : document + "." + field.field;
  }
  return error;
}

std::string NameOf(const ObjectChange& change) {
  std::string name = shapes::InfoOf(change.kind).name;
  name += " ";
  if (!change.ns.empty()) name += change.ns + "/";
  return name + change.name;
}

// What a change of which makes a new generation: everything but metadata and status.
bool SameSpec(const std::string& a, const std::string& b) {
  auto left = ParseJson(a), right = ParseJson(b);
  if (!left.ok() || !right.ok() || !left->is_object() || !right->is_object()) return false;
  left->as_object().erase("metadata");
  right->as_object().erase("metadata");
  left->as_object().erase("status");
  right->as_object().erase("status");
  return *left == *right;
}

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

// Objects that live inside a namespace go with it.
void RemoveNamespaced(const std::string& ns, Draft* draft, std::vector<ObjectPtr>* gone) {
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

bool IsEviction(ObjectKind kind) {
  return kind == ObjectKind::kClusterResourcePlacementEviction ||
         kind == ObjectKind::kResourcePlacementEviction;
}

// Only these kinds change what is charged to whom; by LimitRange and RuntimeClass waiting jobs are
// measured, placements choose among members, and overrides and envelopes are for members alone.
bool MattersToQueues(ObjectKind kind) {
  return kind != ObjectKind::kConfigMap && kind != ObjectKind::kSecret &&
         kind != ObjectKind::kLimitRange && kind != ObjectKind::kRuntimeClass &&
         kind != ObjectKind::kClusterResourcePlacement && kind != ObjectKind::kResourcePlacement &&
         !IsEviction(kind) && kind != ObjectKind::kClusterResourcePlacementDisruptionBudget &&
         kind != ObjectKind::kResourcePlacementDisruptionBudget &&
         kind != ObjectKind::kClusterResourceOverride && kind != ObjectKind::kResourceOverride &&
         kind != ObjectKind::kClusterResourceEnvelope && kind != ObjectKind::kResourceEnvelope;
}

// Its controller writes the status of an admission check, the engine that of an eviction; whoever
// writes the rest leaves it alone.
std::string WithStatus(const ObjectChange& change, const ObjectPtr& now) {
  const bool has_status = change.kind == ObjectKind::kAdmissionCheck || IsEviction(change.kind);
  if (!has_status || now == nullptr) return change.manifest;
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

// Since when a member has a taint NoExecute: who tolerates it for a while goes when that is over.
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

// What of a ClusterQueue's quotas is another than before; of other objects nothing.
std::string AuditDetail(const StoredObject& object, const ConfigView& before,
                        const ConfigView& after) {
  if (object.kind != ObjectKind::kClusterQueue) return "";
  const auto queue_of = [&](const ConfigView& config) {
    const auto found = config.cluster_queues.find(object.name);
    return found == config.cluster_queues.end() ? nullptr : &found->second;
  };
  return QuotaChanges(queue_of(before), queue_of(after));
}

Result<ObjectApplied> PutObject(const ObjectChange& asked, const ObjectPtr& now, WallTime time,
                                Random& random, Draft* draft) {
  ObjectChange change = asked;
  change.manifest = WithStatus(asked, now);
  if (change.kind == ObjectKind::kMemberCluster)
    change.manifest = WithTaintTimes(change, now, time);
  if (now != nullptr && now->manifest == change.manifest)
    return ObjectApplied{now, ApplyOutcome::kUnchanged};
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
  return ObjectApplied{object, now == nullptr ? ApplyOutcome::kCreated : ApplyOutcome::kConfigured};
}

}  // namespace

Result<std::vector<ObjectApplied>> Engine::Impl::Apply(const Actor& actor,
                                                       const std::vector<ObjectChange>& changes,
                                                       bool dry_run) {
  Draft draft{std::make_shared<ConfigView>(*live.config),
              std::make_shared<ObjectTable>(*live.objects)};
  std::vector<ObjectApplied> outcomes;
  std::vector<ObjectPtr> cascaded;
  bool matters = false;
  std::set<std::string> bound;  // namespaces with another LimitRange than before
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
      auto put = PutObject(change, now, clock.WallNow(), random, &draft);
      if (!put.ok()) return At(i, put.error());
      outcomes.push_back(std::move(put).value());
    }
    if (outcomes.back().outcome == ApplyOutcome::kUnchanged) continue;
    matters = matters || MattersToQueues(change.kind);
    other_overhead = other_overhead || change.kind == ObjectKind::kRuntimeClass;
    if (change.kind == ObjectKind::kLimitRange) bound.insert(change.ns);
  }
  if (dry_run) return outcomes;
  std::vector<ObjectKey> changed;
  for (const ObjectPtr& object : cascaded) {
    AddEvent("ObjectDeleted", JobId{}, ObjectName(*object), "", "");
    tx.objects[{object->kind, object->ns, object->name}] = {object, true};
    changed.emplace_back(object->kind, object->ns, object->name);
  }
  for (ObjectApplied& one : outcomes) {
    if (one.outcome == ApplyOutcome::kUnchanged) continue;
    const bool removed = one.outcome == ApplyOutcome::kDeleted;
    const std::string name = ObjectName(*one.object);
    AddAudit(actor,
             removed                                 ? "delete"
             : one.outcome == ApplyOutcome::kCreated ? "create"
                                                     : "update",
             name, AuditDetail(*one.object, *live.config, *draft.config));
    auto object = std::make_shared<StoredObject>(*one.object);
    object->resource_version =
        AddEvent(removed ? "ObjectDeleted" : "ObjectApplied", JobId{}, name, "", "");
    one.object = object;
    const ObjectKey key{object->kind, object->ns, object->name};
    if (!removed && draft.objects->contains(key)) draft.objects->insert_or_assign(key, object);
    tx.objects[key] = {object, removed};
    changed.push_back(key);
  }
  if (!changed.empty()) {
    draft.config->version = live.last_seq;
    TakeConfig({std::move(draft.config), std::move(draft.objects), std::move(changed), matters});
    if (!bound.empty() || other_overhead) RecheckWaiting(bound, other_overhead);
  }
  return outcomes;
}

void Engine::Impl::Handle(ApplyCommand command) {
  auto outcome = Apply(command.actor, command.changes, command.dry_run);
  if (!outcome.ok() || command.dry_run) {
    answers.push_back(
        [done = std::move(command.done), outcome = std::move(outcome)] { done(outcome); });
    return;
  }
  AnswerAfterCommit(
      [done = std::move(command.done), outcome = std::move(outcome)](const Error* error) {
        if (error != nullptr) {
          done(*error);
        } else {
          done(outcome);
        }
      });
}

}  // namespace muster
