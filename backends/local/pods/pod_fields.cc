// The downward API: fields of the pod, and requests and limits of its containers. A limit that is
// not set stands for the member's allocatable amount, as in Kubernetes; a request that is not set
// equals the limit. Amounts are divided by the divisor and rounded up.
#include "backends/local/pods/pod_fields.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// The template's labels or annotations with the controller's additions.
LabelMap Merge(const json::object& own, const LabelMap& more) {
  LabelMap all;
  for (const auto& member : own) {
    if (member.value().is_string())
      all[std::string(member.key())] = std::string(member.value().get_string());
  }
  for (const auto& [key, value] : more) all[key] = value;
  return all;
}

// Reads the key of a path such as metadata.labels['a/b']; false if `path` is no subscript of
// `base`.
bool Subscript(const std::string& path, const std::string& base, std::string* key) {
  if (!path.starts_with(base + "['") || !path.ends_with("']")) return false;
  *key = path.substr(base.size() + 2, path.size() - base.size() - 4);
  return true;
}

std::string Lookup(const LabelMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

// All entries as the downward API writes them: key="value" lines.
std::string Lines(const LabelMap& map) {
  std::string text;
  for (const auto& [key, value] : map)
    text += key + "=" + json::serialize(json::value(value)) + "\n";
  return text;
}

}  // namespace

PodFields::PodFields(const PodWish& wish, const PodContext& context)
    : wish_(wish),
      context_(context),
      labels_(Merge(ObjectOrEmpty(wish.pod_template, {"metadata", "labels"}), wish.labels)),
      annotations_(
          Merge(ObjectOrEmpty(wish.pod_template, {"metadata", "annotations"}), wish.annotations)) {}

Result<std::string> PodFields::Field(const std::string& path) const {
  std::string key;
  if (path == "metadata.name") return wish_.identity.name;
  if (path == "metadata.namespace") return context_.ns;
  if (path == "metadata.uid") return context_.pod_uid;
  if (path == "metadata.labels") return Lines(labels_);
  if (path == "metadata.annotations") return Lines(annotations_);
  if (Subscript(path, "metadata.labels", &key)) return Lookup(labels_, key);
  if (Subscript(path, "metadata.annotations", &key)) return Lookup(annotations_, key);
  if (path == "spec.nodeName") return context_.cluster;
  if (path == "spec.serviceAccountName") return std::string("default");
  if (path == "status.podIP" || path == "status.podIPs" || path == "status.hostIP" ||
      path == "status.hostIPs") {
    return std::string("127.0.0.1");
  }
  return InvalidArgument("a pod cannot refer to its field " + path);
}

Result<std::string> PodFields::Resource(const json::object& reference,
                                        const json::object& container) const {
  const std::string path = Text(reference, "resource");
  const std::size_t dot = path.find('.');
  const std::string section = path.substr(0, dot);
  if (dot == std::string::npos || (section != "limits" && section != "requests")) {
    return InvalidArgument(
        "resourceFieldRef.resource must be limits.NAME or requests.NAME, not \"" + path + "\"");
  }
  const std::string resource = path.substr(dot + 1);
  const json::object& resources = ObjectOrEmpty(container, "resources");
  std::string text = Text(ObjectOrEmpty(resources, section), resource);
  if (text.empty() && section == "requests")
    text = Text(ObjectOrEmpty(resources, "limits"), resource);
  std::int64_t amount = 0;
  if (!text.empty()) {
    const Result<std::int64_t> parsed = ParseQuantity(resource, text);
    if (!parsed.ok()) return parsed.error();
    amount = *parsed;
  } else if (section == "limits" && context_.allocatable != nullptr) {
    amount = AmountOf(*context_.allocatable, resource);
  }
  const std::string divisor_text = Text(reference, "divisor");
  std::int64_t divisor = IsMilliResource(resource) ? 1000 : 1;
  if (!divisor_text.empty() && divisor_text != "0") {
    const Result<std::int64_t> parsed = ParseQuantity(resource, divisor_text);
    if (!parsed.ok()) return parsed.error();
    divisor = std::max<std::int64_t>(1, *parsed);
  }
  return std::to_string((amount + divisor - 1) / divisor);
}

}  // namespace muster::local
