// Makes the manifest that is sent from the manifest that is stored: metadata that an API server
// writes (uid, resourceVersion, owners, finalizers and the like), status, and labels and
// annotations muster.io/* are dropped, because they mean nothing on a member. A Namespace is sent
// with its name, labels and annotations alone.
#include "schedd/propagation/step/manifest.h"

#include <algorithm>
#include <string_view>

#include "schedd/text/lenient.h"

namespace muster::propagation {
namespace {

// Prefix of labels and annotations that are Muster's own.
constexpr std::string_view kOwnMarks = "muster.io/";
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
// Metadata that an API server writes, or that names objects of this cluster alone.
constexpr std::string_view kServerMetadata[] = {
    "uid",           "resourceVersion",           "generation", "creationTimestamp",
    "managedFields", "deletionTimestamp",         "finalizers", "ownerReferences",
    "selfLink",      "deletionGracePeriodSeconds"};

bool IsServerMetadata(std::string_view key) {
  return std::find(std::begin(kServerMetadata), std::end(kServerMetadata), key) !=
         std::end(kServerMetadata);
}

bool IsNamespace(const ResourceRef& ref) { return ref.group.empty() && ref.kind == "Namespace"; }

// Labels or annotations without those that are not sent; the result may be empty.
json::object MarksToSend(const json::object& marks) {
  json::object kept;
  for (const auto& [key, value] : marks) {
    if (key.starts_with(kOwnMarks) || key == kLastApplied) continue;
    kept.emplace(key, value);
  }
  return kept;
}

// The metadata that is sent, with the name and namespace of `ref`.
json::object MetadataToSend(const json::object& metadata, const ResourceRef& ref) {
  json::object kept{{"name", ref.name}};
  if (!ref.ns.empty()) kept.emplace("namespace", ref.ns);
  for (const auto& [key, value] : metadata) {
    const bool marks = key == "labels" || key == "annotations";
    if (marks && value.is_object()) {
      json::object left = MarksToSend(value.get_object());
      if (!left.empty()) kept.emplace(key, std::move(left));
    } else if (!marks && key != "namespace" && !IsServerMetadata(key) && !IsNamespace(ref)) {
      kept.emplace(key, value);
    }
  }
  return kept;
}

// The strings of metadata.labels or metadata.annotations.
LabelMap StringsAt(const json::object& object, std::string_view key) {
  LabelMap strings;
  for (const auto& [name, value] : ObjectOrEmpty(object, {"metadata", key})) {
    if (value.is_string()) strings.emplace(name, value.get_string());
  }
  return strings;
}

}  // namespace

// The members of the manifest stay in their order.
std::string ManifestToSend(const json::object& stored, const ResourceRef& ref) {
  json::object sent;
  bool has_metadata = false;
  for (const auto& [key, value] : stored) {
    if (key == "status") continue;
    if (key == "metadata" && value.is_object()) {
      sent.emplace(key, MetadataToSend(value.get_object(), ref));
      has_metadata = true;
    } else if (!IsNamespace(ref) || key == "apiVersion" || key == "kind") {
      sent.emplace(key, value);
    }
  }
  if (!has_metadata) sent["metadata"] = MetadataToSend({}, ref);
  return WriteJson(sent);
}

LabelMap LabelsOf(const json::object& object) { return StringsAt(object, "labels"); }
LabelMap AnnotationsOf(const json::object& object) { return StringsAt(object, "annotations"); }

// "v1" has no group; "apps/v1" has group "apps" and version "v1".
ResourceRef RefOf(const json::object& manifest, const std::string& ns, const std::string& name) {
  const std::string api_version = TextAt(manifest, "apiVersion");
  const std::size_t slash = api_version.find('/');
  ResourceRef ref;
  if (slash != std::string::npos) ref.group = api_version.substr(0, slash);
  ref.version = slash == std::string::npos ? api_version : api_version.substr(slash + 1);
  ref.kind = TextAt(manifest, "kind");
  ref.ns = ns;
  ref.name = name;
  return ref;
}

}  // namespace muster::propagation
