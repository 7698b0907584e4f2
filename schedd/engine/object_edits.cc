// Commands that write one field of one object: a member's cordon or drain, the activity of an
// admission check.
#include "schedd/engine/leaving_impl.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

// Edits the manifest of one object, and answers with the object once that is durable. A template
// because Engine::Impl is nobody else's to name.
template <class Impl, class Edit>
void EditObject(Impl& impl, const Actor& actor, const ObjectKey& key,
                std::int64_t expected_resource_version, const Edit& edit,
                Callback<ObjectPtr> done) {
  const auto refuse = [&](Error error) {
    impl.answers.push_back([done, error = std::move(error)] { done(error); });
  };
  const auto& [kind, ns, name] = key;
  const std::string called = std::string(shapes::InfoOf(kind).name) + " " + name;
  const auto found = impl.live.objects->find(key);
  if (found == impl.live.objects->end()) return refuse(NotFound(called + " does not exist"));
  auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok() || !manifest->is_object()) return refuse(Internal(called + " is unreadable"));
  edit(&manifest->get_object());
  ObjectChange change;
  change.kind = kind;
  change.ns = ns;
  change.name = name;
  change.manifest = WriteJson(*manifest);
  change.expected_resource_version = expected_resource_version;
  auto outcome = impl.Apply(actor, {change}, false);
  if (!outcome.ok()) return refuse(outcome.error());
  impl.AnswerAfterCommit(
      [done = std::move(done), object = outcome->front().object](const Error* error) {
        if (error != nullptr) {
          done(*error);
        } else {
          done(object);
        }
      });
}

// When the condition that the last SetCheckActiveCommand left in the object came to be; null if
// there was none.
json::value ActiveSince(const json::object& manifest) {
  const json::value* status = manifest.if_contains("status");
  if (status == nullptr) return nullptr;
  boost::system::error_code none;
  const json::value* time = status->find_pointer("/conditions/0/lastTransitionTime", none);
  return time == nullptr ? json::value(nullptr) : *time;
}

constexpr const char* kCordoned = "muster.io/cordoned";
constexpr const char* kDraining = "muster.io/draining";

json::object& AnnotationsOf(json::object* manifest) {
  json::value& metadata = (*manifest)["metadata"];
  if (!metadata.is_object()) metadata = json::object{};
  json::value& annotations = metadata.as_object()["annotations"];
  if (!annotations.is_object()) annotations = json::object{};
  return annotations.as_object();
}

}  // namespace

void Engine::Impl::Handle(CordonCommand command) {
  const auto edit = [&command](json::object* manifest) {
    json::object& annotations = AnnotationsOf(manifest);
    annotations[kCordoned] = command.cordon ? "true" : "false";
    if (!command.cordon) annotations.erase(kDraining);
  };
  EditObject(*this, command.actor, {ObjectKind::kMemberCluster, "", command.cluster}, 0, edit,
             command.done);
}

void Engine::Impl::Handle(DrainCommand command) {
  const auto known = live.config->member_clusters.find(command.cluster);
  const bool force =
      command.force || (known != live.config->member_clusters.end() && known->second.drain_forced);
  const auto edit = [force](json::object* manifest) {
    json::object& annotations = AnnotationsOf(manifest);
    annotations[kCordoned] = "true";
    annotations[kDraining] = force ? "force" : "true";
  };
  auto progress = std::make_shared<DrainProgress>();
  EditObject(*this, command.actor, {ObjectKind::kMemberCluster, "", command.cluster}, 0, edit,
             [progress, done = std::move(command.done)](Result<ObjectPtr> member) {
               if (!member.ok()) return done(member.error());
               done(*progress);
             });
  leaving->Look();
  *progress = leaving->ProgressOf(command.cluster);
}

void Engine::Impl::Handle(SetCheckActiveCommand command) {
  const auto known = live.config->admission_checks.find(command.check);
  const auto edit = [&](json::object* manifest) {
    json::object condition{{"type", "Active"},
                           {"status", command.active ? "True" : "False"},
                           {"reason", command.reason},
                           {"message", command.message}};
    // Said again, it is as old as before.
    json::value since =
        known == live.config->admission_checks.end() || known->second.active != command.active
            ? json::value(nullptr)
            : ActiveSince(*manifest);
    if (since.is_null()) since = FormatRfc3339(clock.WallNow());
    condition["lastTransitionTime"] = std::move(since);
    (*manifest)["status"] = json::object{{"conditions", json::array{std::move(condition)}}};
  };
  EditObject(*this, command.actor, {ObjectKind::kAdmissionCheck, "", command.check},
             command.expected_resource_version, edit, command.done);
}

}  // namespace muster
