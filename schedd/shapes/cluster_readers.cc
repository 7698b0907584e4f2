// Namespace, ConfigMap, Secret and the daemon's own MemberCluster objects.
#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/object_readers.h"
#include "schedd/shapes/pod_template.h"
#include "schedd/text/base64.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kDataBytes = 1 << 20;  // Kubernetes' own limit for a ConfigMap or Secret

// The keys of a data map; values are text or base64. Adds to the bytes seen.
void CheckData(const Field& data, bool base64, std::size_t* bytes) {
  for (const auto& [key, field] : data.Members()) {
    if (!IsDataKey(key)) field.Fail(std::string("a key ") + kDataKeyRule);
    if (!field.present()) {
      field.Fail("must be a string, not null");
      continue;
    }
    const auto text = field.String();
    if (!text) continue;
    *bytes += key.size() + text->size();
    if (base64 && !DecodeBase64(*text)) field.Fail("must be base64");
  }
}

bool ReadFlag(const Field& annotation) {
  const auto text = annotation.OneOf({"true", "false"});
  return text == "true";
}

ResourceList ReadAllocatable(const Field& annotation) {
  ResourceList list;
  const auto text = annotation.String();
  if (!text) return list;
  const auto amounts = ParseJson(*text);
  if (!amounts.ok() || !amounts->is_object()) {
    annotation.Fail("must be a JSON object of quantities");
    return list;
  }
  for (const auto& member : amounts->get_object()) {
    const auto quantity = QuantityText(member.value());
    const auto amount = quantity ? ParseQuantity(std::string_view(member.key()), *quantity)
                                 : InvalidArgument("is no quantity");
    if (!amount.ok()) {
      annotation.Fail(std::string(std::string_view(member.key())) + ": " + amount.error().detail);
      continue;
    }
    SetAmount(&list, std::string_view(member.key()), *amount);
  }
  return list;
}

}  // namespace

Namespace ReadNamespace(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  root["spec"].OnlyMembers({"finalizers"});
  Namespace ns;
  ns.name = NameOf(root);
  if (!ns.name.empty() && !IsDnsLabel(ns.name)) root["metadata"]["name"].Fail(kDnsLabelRule);
  ns.labels = ReadLabelMap(root["metadata"]["labels"]);
  return ns;
}

MemberCluster ReadMemberCluster(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  MemberCluster cluster;
  cluster.name = NameOf(root);
  if (!cluster.name.empty() && (!IsDnsSubdomain(cluster.name) || cluster.name.size() > 63)) {
    root["metadata"]["name"].Fail("must be a DNS subdomain of at most 63 bytes");
  }
  cluster.labels = ReadLabelMap(root["metadata"]["labels"]);
  const Field annotations = root["metadata"]["annotations"];
  const Field backend = annotations.Named("muster.io/backend");
  if (!backend.present()) {
    backend.Fail(
        "member clusters are declared to musterd (--local-cluster, --member-cluster), not applied");
  }
  cluster.backend = backend.StringOr("");
  cluster.any_flavor = ReadFlag(annotations.Named("muster.io/any-flavor"));
  cluster.cordoned = ReadFlag(annotations.Named("muster.io/cordoned"));
  cluster.allocatable = ReadAllocatable(annotations.Named("muster.io/allocatable"));
  const Field spec = root["spec"];
  spec.OnlyMembers({"taints"});
  cluster.taints = ReadTaints(spec["taints"]);
  return cluster;
}

void CheckConfigMap(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "data", "binaryData", "immutable"});
  std::size_t bytes = 0;
  CheckData(root["data"], false, &bytes);
  CheckData(root["binaryData"], true, &bytes);
  (void)root["immutable"].Bool();
  for (const auto& [key, field] : root["binaryData"].Members()) {
    if (root["data"].Named(key).present()) field.Fail("is in data too");
  }
  if (bytes > kDataBytes)
    root["data"].Fail("must be at most " + std::to_string(kDataBytes) + " bytes together");
}

void CheckSecret(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "data", "stringData", "type", "immutable"});
  std::size_t bytes = 0;
  CheckData(root["data"], true, &bytes);
  CheckData(root["stringData"], false, &bytes);
  (void)root["type"].String();
  (void)root["immutable"].Bool();
  if (bytes > kDataBytes)
    root["data"].Fail("must be at most " + std::to_string(kDataBytes) + " bytes together");
}

}  // namespace muster::shapes
