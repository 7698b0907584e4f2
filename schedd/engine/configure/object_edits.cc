// Commands that write one field of one object: a member's cordon or drain, the activity of an
// admission check. Each one edits the stored manifest and applies it as an ordinary change, so it
// is checked, audited, versioned and written like an edit by a user, and a restart finds it in the
// object.
#include "schedd/engine/configure/configuration.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

// The lastTransitionTime that the last SetCheckActiveCommand left in the object; null if there is
// none.
json::value ActiveSince(const json::object& manifest) {
  const json::value* status = manifest.if_contains("status");
  if (status == nullptr) return nullptr;
  boost::system::error_code none;
  const json::value* time = status->find_pointer("/conditions/0/lastTransitionTime", none);
  return time == nullptr ? json::value(nullptr) : *time;
}

constexpr const char* kCordoned = "muster.io/cordoned";
constexpr const char* kDraining = "muster.io/draining";

// The annotations of a manifest, made if they are missing.
json::object& AnnotationsOf(json::object* manifest) {
  json::value& metadata = (*manifest)["metadata"];
  if (!metadata.is_object()) metadata = json::object{};
  json::value& annotations = metadata.as_object()["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  return annotations.as_object();
}

}  // namespace

// kNotFound if there is no such object. A result that is equal to the stored manifest writes
// nothing and is answered all the same.
void Configuration::EditObject(const Actor& actor, const ObjectKey& key,
                               std::int64_t expected_resource_version, const Edit& edit,
                               Callback<ObjectPtr> done) {
  const auto apply = [&]() -> Result<ObjectPtr> {
    const auto& [kind, ns, name] = key;
    const std::string called = std::string(shapes::InfoOf(kind).name) + " " + name;
    const auto found = config_.objects()->find(key);
    if (found == config_.objects()->end()) return NotFound(called + " does not exist");
    auto manifest = ParseJson(found->second->manifest);
    if (!manifest.ok() || !manifest->is_object()) return Internal(called + " is unreadable");
    edit(&manifest->get_object());
    ObjectChange change;
    change.kind = kind;
    change.ns = ns;
    change.name = name;
    change.manifest = WriteJson(*manifest);
    change.expected_resource_version = expected_resource_version;
    const auto outcome = Apply(actor, {change}, false);
    if (!outcome.ok()) return outcome.error();
    return outcome->front().object;
  };
  commits_.AnswerOutcome(std::move(done), apply());
}

// Uncordoning ends a drain too.
void Configuration::Handle(CordonCommand command) {
  const auto edit = [&command](json::object* manifest) {
    json::object& annotations = AnnotationsOf(manifest);
    annotations[kCordoned] = command.cordon ? "true" : "false";
    if (!command.cordon) annotations.erase(kDraining);
  };
  EditObject(command.actor, {ObjectKind::kMemberCluster, "", command.cluster}, 0, edit,
             std::move(command.done));
}

// A forced drain stays forced if the command is repeated without force.
void Configuration::EditDrain(const DrainCommand& command, Callback<ObjectPtr> done) {
  const auto known = config_.view()->member_clusters.find(command.cluster);
  const bool force = command.force ||
                     (known != config_.view()->member_clusters.end() && known->second.drain_forced);
  const auto edit = [force](json::object* manifest) {
    json::object& annotations = AnnotationsOf(manifest);
    annotations[kCordoned] = "true";
    annotations[kDraining] = force ? "force" : "true";
  };
  EditObject(command.actor, {ObjectKind::kMemberCluster, "", command.cluster}, 0, edit,
             std::move(done));
}

// The condition Active as Kueue writes it; its time moves only if the status changes
// (metav1.Condition).
void Configuration::Handle(SetCheckActiveCommand command) {
  const auto known = config_.view()->admission_checks.find(command.check);
  const auto edit = [&](json::object* manifest) {
    json::object condition{{"type", "Active"},
                           {"status", command.active ? "True" : "False"},
                           {"reason", command.reason},
                           {"message", command.message}};
    json::value since =
        known == config_.view()->admission_checks.end() || known->second.active != command.active
            ? json::value(nullptr)
            : ActiveSince(*manifest);
    if (since.is_null()) since = FormatRfc3339(context_.clock.WallNow());
    condition["lastTransitionTime"] = std::move(since);
    (*manifest)["status"] = json::object{{"conditions", json::array{std::move(condition)}}};
  };
  EditObject(command.actor, {ObjectKind::kAdmissionCheck, "", command.check},
             command.expected_resource_version, edit, std::move(command.done));
}

}  // namespace muster
