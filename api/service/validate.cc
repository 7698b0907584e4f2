// Parses and normalises configuration objects, applies them to a copy of the configuration, and
// moves errors to the document they belong to.
//
// Member clusters are special. Those that a flag of the daemon declares have only a few fields that
// an administrator may write; those that were added at run time name the Secret of their kubeconfig
// and are changed like any object. Either way the daemon keeps the annotations for cordon and drain
// in the object, so an apply of a user's manifest, which does not have them, must not lose them
// (WithKept).
#include "api/service/validate.h"

#include <charconv>
#include <utility>

#include "api/service/registered_member.h"
#include "api/service/unserved.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// The refusal of a change that only the daemon's flags may make.
Error DaemonOwned() {
  return InvalidField(
      "kind",
      "member clusters are declared by the daemon's --local-cluster and --member-cluster flags, or "
      "added (muster cluster add; the annotation muster.io/kubeconfig-secret); of declared ones "
      "only "
      "spec.taints, spec.heartbeatPeriodSeconds and the annotations muster.io/nodes, "
      "muster.io/properties and "
      "muster.io/datasets "
      "can be changed");
}

// The annotations of a declared member that may be edited.
constexpr const char* kEdited[] = {"muster.io/nodes", "muster.io/properties", "muster.io/datasets"};

// The object at `path` without its null members, which mean the same as absent ones; empty if there
// is no object.
json::object WithoutNulls(const json::value& document, const JsonPath& path) {
  json::object out;
  for (const json::key_value_pair& member : ObjectOrEmpty(document, path))
    if (!member.value().is_null()) out.emplace(member.key(), member.value());
  return out;
}

// Gives member `key` of `to` the value it has in `from`, or removes it if `from` does not have it.
void TakeMember(const json::object& from, std::string_view key, json::object* to) {
  const json::value* value = from.if_contains(key);
  if (value == nullptr) {
    to->erase(key);
  } else {
    (*to)[key] = *value;
  }
}

// True for a member that was, or is to be, added at run time.
bool NamesSecret(const json::value& member) {
  return WithoutNulls(member, {"metadata", "annotations"}).contains(kKubeconfigSecret);
}

// The manifest with the annotations that the daemon keeps in the object: backend, cordon and drain.
json::value WithKept(const ConfigView& config, const shapes::ParsedObject& object) {
  json::value manifest = object.manifest;
  json::object& annotations =
      manifest.get_object()["metadata"].get_object()["annotations"].get_object();
  annotations.emplace("muster.io/backend", "kubernetes");
  const auto known = config.member_clusters.find(object.name);
  if (known == config.member_clusters.end()) return manifest;
  if (known->second.cordoned) annotations.emplace("muster.io/cordoned", "true");
  if (known->second.draining)
    annotations.emplace("muster.io/draining", known->second.drain_forced ? "force" : "true");
  return manifest;
}

}  // namespace

Result<std::int64_t> ResourceVersionOf(const json::value* text, const std::string& field) {
  if (text == nullptr || text->is_null()) return std::int64_t{0};
  std::int64_t version = -1;
  if (text->is_string()) {
    const json::string& digits = text->get_string();
    if (digits.empty()) return std::int64_t{0};
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), version);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) version = -1;
  }
  if (version < 0) return InvalidField(field, "is not a resourceVersion of this server");
  return version;
}

// A field's path "spec.x" becomes "documents[2].spec.x"; an error without fields gets the document
// as its field.
Error AtDocument(std::size_t index, Error error) {
  const std::string document = "documents[" + std::to_string(index) + "]";
  if (error.fields.empty()) {
    error.fields.push_back({document, error.detail});
    error.detail = document + ": " + error.detail;
    return error;
  }
  for (FieldError& field : error.fields) {
    field.field = document + (field.field.empty() ? "" : "." + field.field);
  }
  error.detail = document + ": " + error.detail;
  return error;
}

Error OfOnlyDocument(Error error) {
  static constexpr std::string_view kDocument = "documents[0]";
  for (FieldError& field : error.fields) {
    if (!field.field.starts_with(kDocument)) continue;
    field.field.erase(0, kDocument.size());
    if (field.field.starts_with('.')) field.field.erase(0, 1);
  }
  std::erase_if(error.fields, [](const FieldError& field) { return field.field.empty(); });
  return error;
}

Error Combined(std::vector<Error> errors) {
  MUSTER_CHECK(!errors.empty());
  Error combined = std::move(errors.front());
  if (errors.size() > 1) {
    combined.detail += " (and " + std::to_string(errors.size() - 1) + " more bad " +
                       (errors.size() == 2 ? "document" : "documents") + ")";
  }
  for (std::size_t i = 1; i < errors.size(); ++i) {
    for (FieldError& field : errors[i].fields) combined.fields.push_back(std::move(field));
    combined.audited = combined.audited && errors[i].audited;
  }
  return combined;
}

const shapes::KindInfo* FindKindByName(std::string_view name) {
  for (const shapes::KindInfo* info : shapes::Kinds()) {
    if (name == info->name || name == info->plural) return info;
  }
  return nullptr;
}

json::value WithNamespace(const json::value& document, ObjectKind kind, const std::string& ns) {
  json::value out = document;
  if (!shapes::InfoOf(kind).namespaced || !out.is_object()) return out;
  json::value& metadata = out.get_object()["metadata"];
  if (metadata.is_null()) metadata = json::object();
  if (metadata.is_object() && !metadata.get_object().contains("namespace")) {
    metadata.get_object()["namespace"] = ns;
  }
  return out;
}

// ApplyTo is the check as well: it fails if the object does not fit the configuration.
Result<ObjectChange> ChangeOf(ConfigView* config, const shapes::ParsedObject& object) {
  if (const Status served = CheckServed(object); !served.ok()) return served.error();
  const bool member = object.kind == ObjectKind::kMemberCluster;
  if (member && !NamesSecret(object.manifest)) return DaemonOwned();
  const json::value manifest = member ? WithKept(*config, object) : object.manifest;
  const Status applied = shapes::ApplyTo(config, object.kind, manifest);
  if (!applied.ok()) return applied.error();
  ObjectChange change;
  change.kind = object.kind;
  change.ns = object.ns;
  change.name = object.name;
  change.manifest = WriteJson(manifest);
  change.expected_resource_version = object.expected_resource_version;
  return change;
}

// Steps: a default namespace, parse, compare with the path, apply to `config`, take over the
// canonical manifest.
Status Normalise(ConfigView* config, ObjectChange* change) {
  const shapes::KindInfo& info = shapes::InfoOf(change->kind);
  if (info.namespaced && change->ns.empty()) change->ns = "default";
  // A removal has no manifest to check.
  if (change->remove) {
    shapes::RemoveFrom(config, change->kind, change->ns, change->name);
    return Done{};
  }
  Result<json::value> document = ParseJson(change->manifest);
  if (!document.ok()) return document.error();
  if (change->kind == ObjectKind::kMemberCluster && !NamesSecret(*document)) return DaemonOwned();
  const Result<shapes::ParsedObject> parsed =
      shapes::ParseObject(WithNamespace(*document, change->kind, change->ns));
  if (!parsed.ok()) return parsed.error();
  if (parsed->kind != change->kind) {
    return InvalidField("kind", std::string("must be ") + info.name + " on this path");
  }
  // The path decides; a manifest of another namespace or name is refused.
  if (info.namespaced && parsed->ns != change->ns) {
    return InvalidField("metadata.namespace",
                        "is \"" + parsed->ns + "\", but the request is for \"" + change->ns + "\"");
  }
  if (!change->name.empty() && parsed->name != change->name) {
    return InvalidField("metadata.name", "is \"" + parsed->name + "\", but the request is for \"" +
                                             change->name + "\"");
  }
  Result<ObjectChange> normalised = ChangeOf(config, *parsed);
  if (!normalised.ok()) return normalised.error();
  change->name = normalised->name;
  change->manifest = std::move(normalised->manifest);
  // A resourceVersion in the manifest fences the change, unless the request has one of its own.
  if (change->expected_resource_version == 0 && !change->must_not_exist) {
    change->expected_resource_version = normalised->expected_resource_version;
  }
  return Done{};
}

// Copies the editable fields from the wanted manifest into the stored one. If the result is not the
// wanted manifest, the client changed something else.
Status EditMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change) {
  const auto found = objects.find({ObjectKind::kMemberCluster, "", change->name});
  if (found == objects.end())
    return NotFound("MemberCluster \"" + change->name + "\" does not exist");
  Result<json::value> stored = ParseJson(found->second->manifest);
  Result<json::value> wanted = ParseJson(change->manifest);
  if (!stored.ok() || !wanted.ok() || !stored->is_object() || !wanted->is_object())
    return InvalidArgument("the member cluster could not be read");
  if (const json::value* spec = wanted->get_object().if_contains("spec");
      spec != nullptr && !spec->is_object() && !spec->is_null())
    return InvalidField("spec", "must be an object");
  const json::object wanted_annotations = WithoutNulls(*wanted, {"metadata", "annotations"});
  const json::object wanted_spec = WithoutNulls(*wanted, "spec");
  json::object annotations = WithoutNulls(*stored, {"metadata", "annotations"});
  json::object spec = WithoutNulls(*stored, "spec");
  for (const char* key : kEdited) TakeMember(wanted_annotations, key, &annotations);
  TakeMember(wanted_spec, "taints", &spec);
  TakeMember(wanted_spec, "heartbeatPeriodSeconds", &spec);
  const bool same_labels = WithoutNulls(*stored, {"metadata", "labels"}) ==
                           WithoutNulls(*wanted, {"metadata", "labels"});
  if (wanted_annotations != annotations || wanted_spec != spec || !same_labels)
    return DaemonOwned();
  stored->get_object()["metadata"].get_object()["annotations"] = std::move(annotations);
  stored->get_object()["spec"] = std::move(spec);
  const Status applied = shapes::ApplyTo(config, change->kind, *stored);
  if (!applied.ok()) return applied;
  change->manifest = WriteJson(*stored);
  return Done{};
}

Status MayReplaceMember(const ObjectTable& objects, const std::string& name) {
  const auto found = objects.find({ObjectKind::kMemberCluster, "", name});
  if (found != objects.end() && KubeconfigSecretOf(*found->second).empty()) return DaemonOwned();
  return Done{};
}

// A member that does not exist yet may be created only as a registered one.
Status ChangeMember(const ObjectTable& objects, ConfigView* config, ObjectChange* change) {
  const bool exists = objects.contains({ObjectKind::kMemberCluster, "", change->name});
  if (!exists && change->must_exist && !change->remove)
    return NotFound("MemberCluster \"" + change->name + "\" does not exist");
  // A member that a flag declares can neither be removed nor created here.
  if (const Status registered = MayReplaceMember(objects, change->name); !registered.ok()) {
    if (change->remove || !change->must_exist) return registered;
    return EditMember(objects, config, change);
  }
  return Normalise(config, change);
}

Status NamespaceExists(const ConfigView& config, const ObjectChange& change) {
  if (change.remove || !shapes::InfoOf(change.kind).namespaced) return Done{};
  if (config.namespaces.contains(change.ns)) return Done{};
  const std::string sentence = "namespace \"" + change.ns + "\" does not exist";
  return Error{Code::kNotFound, sentence, {{"metadata.namespace", sentence}}};
}

}  // namespace muster::api
