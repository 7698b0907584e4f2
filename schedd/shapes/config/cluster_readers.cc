// Namespace, ConfigMap, Secret and MemberCluster: their readers and their entries in the table of
// kinds.
//
// A MemberCluster is written by the daemon for each member that its options declare, or registered
// while it runs; what Muster has to know beyond KubeFleet's spec stands in annotations, some of
// them as JSON. ConfigMaps and Secrets have no typed form: no decision looks at them, they are
// checked, stored and sent to members.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/security/tenancy_readers.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kDataBytes = 1 << 20;  // Kubernetes' own limit for a ConfigMap or Secret
constexpr std::size_t kMemberDatasets = 10'000;
constexpr std::size_t kPropertyTextBytes = 1024;

// Checks the keys and values of a data map; the values are text, or base64 of bytes. Adds the bytes
// as they are written to `bytes`.
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

// An annotation that is "true" or "false"; absent it is false.
bool ReadFlag(const Field& annotation) {
  const auto text = annotation.OneOf({"true", "false"});
  return text == "true";
}

// Annotation muster.io/allocatable, whose text is a JSON object. Amounts of anything but bytes must
// be whole.
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
    if (!IsByteResource(std::string_view(member.key())) &&
        !IsWholeAmount(std::string_view(member.key()), *quantity))
      annotation.Fail(std::string(std::string_view(member.key())) + ": " + kWholeAmountRule);
    SetAmount(&list, std::string_view(member.key()), *amount);
  }
  return list;
}

// The same from an object of the manifest: the amounts of one machine.
ResourceList ReadAmounts(const Field& field) {
  ResourceList list;
  for (const auto& [resource, amount] : field.Members()) {
    const auto value = amount.Quantity(resource);
    if (!value) continue;
    if (!IsByteResource(resource) && !IsWholeAmount(resource, *QuantityText(*amount.value())))
      amount.Fail(kWholeAmountRule);
    SetAmount(&list, resource, *value);
  }
  return list;
}

// Annotation muster.io/properties, such as {"muster.io/cost.cpu": "0.03", "region": "eu-1"}. A
// value that reads as a quantity is kept as an amount too.
MemberProperties ReadProperties(const Field& annotation) {
  MemberProperties read;
  const auto text = annotation.String();
  if (!text) return read;
  const auto object = ParseJson(*text);
  if (!object.ok() || !object->is_object()) {
    annotation.Fail("must be a JSON object of property names to quantities or texts");
    return read;
  }
  for (const auto& member : object->get_object()) {
    const std::string name(std::string_view(member.key()));
    const auto wrong = [&](const std::string& message) {
      annotation.Fail(Quoted(name) + ": " + message);
    };
    const auto value = QuantityText(member.value());
    if (!IsPropertyName(name)) wrong(kPropertyNameRule);
    if (!value || value->size() > kPropertyTextBytes) {
      wrong("must be a quantity or a text of at most 1024 bytes");
      continue;
    }
    if (const auto amount = ParseBillionths(*value); amount.ok()) read.amounts[name] = *amount;
    read.texts[name] = *value;
  }
  if (read.texts.size() > limits::kMemberProperties) {
    annotation.Fail("must have at most " + std::to_string(limits::kMemberProperties) +
                    " properties");
  }
  return read;
}

// spec.taints. The effect PreferNoSchedule is for machines only. `added` receives the time of each
// taint (timeAdded), unset where there is none.
std::vector<Taint> ReadMemberTaints(const Field& field, std::vector<WallTime>* added) {
  std::vector<Taint> taints = ReadTaints(field);
  const std::vector<Field> items = field.Elements();
  for (std::size_t i = 0; i < taints.size(); ++i) {
    if (taints[i].effect == "PreferNoSchedule")
      items[i]["effect"].Fail("must be NoSchedule or NoExecute");
    WallTime since;
    const Field time = items[i]["timeAdded"];
    if (const auto text = time.String(); text && !ParseRfc3339(std::string(*text), &since))
      time.Fail("must be a time such as 2026-01-31T12:00:00Z");
    added->push_back(since);
  }
  if (taints.size() > limits::kMemberTaints)
    field.Fail("must have at most " + std::to_string(limits::kMemberTaints) + " entries");
  return taints;
}

// Annotation muster.io/nodes: the machines of a member, for topology aware scheduling. A member
// without it counts as one machine.
std::vector<Node> ReadNodes(const Field& annotation) {
  std::vector<Node> nodes;
  const auto text = annotation.String();
  if (!text) return nodes;
  const auto list = ParseJson(*text);
  if (!list.ok() || !list->is_array()) {
    annotation.Fail("must be a JSON list of machines");
    return nodes;
  }
  Problems problems;
  for (const Field& item : Field(*list, &problems).Elements()) {
    item.OnlyMembers({"name", "labels", "taints", "allocatable", "ready"});
    Node node;
    if (item["name"].Require()) node.name = item["name"].StringOr("");
    node.labels = ReadLabelMap(item["labels"]);
    node.labels.emplace("kubernetes.io/hostname", node.name);
    node.taints = ReadTaints(item["taints"]);
    node.allocatable = ReadAmounts(item["allocatable"]);
    node.ready = item["ready"].BoolOr(true);
    nodes.push_back(std::move(node));
  }
  if (!problems.empty()) annotation.Fail(problems.ToError().detail);
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].name == nodes[i - 1].name)
      annotation.Fail("machine " + nodes[i].name + " is declared twice");
  }
  return nodes;
}

// Checks the annotations of a member that was registered while the daemon runs: the Secret that
// holds its kubeconfig, and the options of the connection.
void CheckRegistered(const Field& annotations) {
  const Field secret = annotations.Named("muster.io/kubeconfig-secret");
  const std::string text(secret.StringOr(""));
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos || !IsDnsLabel(text.substr(0, slash)) ||
      !IsDnsSubdomain(text.substr(slash + 1))) {
    secret.Fail("must be NAMESPACE/NAME of a Secret with the key kubeconfig");
  }
  if (annotations.Named("muster.io/backend").StringOr("kubernetes") != "kubernetes")
    annotations.Named("muster.io/backend").Fail("must be kubernetes where a Secret is named");
  (void)annotations.Named("muster.io/context").String();
  (void)annotations.Named("muster.io/fast").OneOf({"true", "false"});
}

}  // namespace

Namespace ReadNamespace(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  root["spec"].OnlyMembers({"finalizers"});
  Namespace ns;
  ns.name = NameOf(root);
  if (!ns.name.empty() && !IsDnsLabel(ns.name)) root["metadata"]["name"].Fail(kDnsLabelRule);
  ns.labels = ReadLabelMap(root["metadata"]["labels"]);
  ns.placement = ReadPlacementName(root["metadata"]["annotations"]);
  ns.tenancy = ReadNamespaceTenancy(root["metadata"]);
  return ns;
}

namespace {

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
  const bool registered = annotations.Named("muster.io/kubeconfig-secret").present();
  if (registered) {
    CheckRegistered(annotations);
  } else if (!backend.present()) {
    backend.Fail(
        "member clusters are declared to musterd (--local-cluster, --member-cluster), not applied");
  }
  cluster.backend = backend.StringOr(registered ? "kubernetes" : "");
  cluster.any_flavor = registered || ReadFlag(annotations.Named("muster.io/any-flavor"));
  cluster.cordoned = ReadFlag(annotations.Named("muster.io/cordoned"));
  const auto draining =
      annotations.Named("muster.io/draining").OneOf({"true", "force", "false"}).value_or("false");
  cluster.draining = draining != "false";
  cluster.drain_forced = draining == "force";
  cluster.allocatable = ReadAllocatable(annotations.Named("muster.io/allocatable"));
  cluster.nodes = ReadNodes(annotations.Named("muster.io/nodes"));
  cluster.properties = ReadProperties(annotations.Named("muster.io/properties"));
  cluster.datasets = ReadDatasets(annotations, kMemberDatasets);
  const Field spec = root["spec"];
  spec.OnlyMembers({"taints", "identity", "heartbeatPeriodSeconds", "deleteOptions"});
  cluster.taints = ReadMemberTaints(spec["taints"], &cluster.tainted_at);
  spec["identity"].Refuse("is not supported: no agent of a member writes to Muster");
  cluster.heartbeat_s = spec["heartbeatPeriodSeconds"]
                            .Int(limits::kHeartbeatMinS, limits::kHeartbeatMaxS)
                            .value_or(cluster.heartbeat_s);
  spec["deleteOptions"].Refuse("is not supported by this version");
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

// A Secret's stringData is another way to write data. As in Kubernetes it is stored in `data`
// alone, where it replaces entries of the same key.
void FoldStringData(json::object& secret) {
  auto* strings = secret.if_contains("stringData");
  if (strings == nullptr) return;
  if (strings->is_object()) {
    json::object& data = MakeObjectAt(secret, "data");
    // Making the member `data` may have moved the others, so `strings` is not used any more.
    for (const auto& member : secret.at("stringData").as_object())
      data[member.key()] = EncodeBase64(std::string_view(member.value().as_string()));
  }
  secret.erase("stringData");
}

// The most pressing state: a member that does not answer, or lacks what jobs need, may be cordoned
// too.
std::string StateCell(const json::value& cluster) {
  if (ConditionText(cluster, "Healthy") == "False") {
    const bool answers = ConditionText(cluster, "Healthy", "reason") == "Unhealthy";
    return answers ? "Unhealthy" : "Unreachable";
  }
  if (FlagAt(cluster, {"status", "draining"})) return "Draining";
  return FlagAt(cluster, {"status", "cordoned"}) ? "Cordoned" : "Ready";
}

// What is wrong with a member. Everything else that it reports is on the page of `cluster
// describe`.
std::string TroubleCell(const json::value& cluster) {
  return ConditionText(cluster, "Healthy") == "False" ? ConditionText(cluster, "Healthy", "message")
                                                      : "";
}

// "key=value:NoSchedule,key:NoExecute".
std::string TaintsCell(const json::value& cluster) {
  std::string out;
  for (const json::value& taint : ArrayOrEmpty(cluster, {"spec", "taints"})) {
    const std::string value = TextAt(taint, "value");
    out += (out.empty() ? "" : ",") + TextAt(taint, "key") + (value.empty() ? "" : "=" + value) +
           ":" + TextAt(taint, "effect");
  }
  return out;
}

// "k8s.io/k8s-version=v1.34.1,...".
std::string PropertiesCell(const json::value& cluster) {
  std::string out;
  for (const auto& property : ObjectOrEmpty(cluster, {"status", "properties"})) {
    out += (out.empty() ? "" : ",") + std::string(property.key()) + "=" +
           TextAt(property.value(), "value");
  }
  return out;
}

constexpr PrinterColumn kNamespaceColumns[] = {kNameColumn, kAgeColumn};

constexpr PrinterColumn kMemberColumns[] = {
    kNameColumn,
    ComputedColumn("STATE", StateCell),
    PairsColumn("ALLOCATABLE", "status.resourceUsage.allocatable"),
    PairsColumn("FREE", "status.resourceUsage.available"),
    kAgeColumn,
    ComputedColumn("MESSAGE", TroubleCell),
    PairsColumn("LABELS", "metadata.labels", true),
    ComputedColumn("TAINTS", TaintsCell, true),
    ComputedColumn("PROPERTIES", PropertiesCell, true),
    {"FACTS AGE", CellForm::kAge, "status.observedAt", true},
};

constexpr PrinterColumn kConfigMapColumns[] = {kNameColumn, kAgeColumn};

constexpr PrinterColumn kSecretColumns[] = {kNameColumn, TextColumn("TYPE", "type"), kAgeColumn};

}  // namespace

constinit const KindInfo kNamespaceKind = {
    .kind = ObjectKind::kNamespace,
    .name = "Namespace",
    .plural = "namespaces",
    .group = "",
    .versions = {"v1", nullptr},
    .namespaced = false,
    .table = "namespaces",
    .check = CheckBy<ReadNamespace>,
    .put = PutInto<ReadNamespace, &ConfigView::namespaces>,
    .remove = EraseFrom<&ConfigView::namespaces>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kApi,
    .sent = true,
    .short_names = {"ns"},
    .cli_name = "ns",
    .cli_place = 21,
    .columns = kNamespaceColumns,
};

constinit const KindInfo kMemberClusterKind = {
    .kind = ObjectKind::kMemberCluster,
    .name = "MemberCluster",
    .plural = "memberclusters",
    .group = kClusterGroup,
    .versions = {"v1beta1", nullptr},
    .namespaced = false,
    .table = "member_clusters",
    .check = CheckBy<ReadMemberCluster>,
    .put = PutInto<ReadMemberCluster, &ConfigView::member_clusters>,
    .remove = EraseFrom<&ConfigView::member_clusters>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kApi,
    .cli_name = "mc",
    .cli_place = 10,
    .columns = kMemberColumns,
};

constinit const KindInfo kConfigMapKind = {
    .kind = ObjectKind::kConfigMap,
    .name = "ConfigMap",
    .plural = "configmaps",
    .group = "",
    .versions = {"v1", nullptr},
    .namespaced = true,
    .table = "config_maps",
    .check = CheckConfigMap,
    .concern = Concern::kMembers,
    .sent = true,
    .short_names = {"cm"},
    .cli_name = "cm",
    .cli_place = 22,
    .columns = kConfigMapColumns,
};

constinit const KindInfo kSecretKind = {
    .kind = ObjectKind::kSecret,
    .name = "Secret",
    .plural = "secrets",
    .group = "",
    .versions = {"v1", nullptr},
    .namespaced = true,
    .table = "secrets",
    .check = CheckSecret,
    .normalise = FoldStringData,
    .concern = Concern::kMembers,
    .sent = true,
    .cli_place = 23,
    .columns = kSecretColumns,
};

}  // namespace muster::shapes
