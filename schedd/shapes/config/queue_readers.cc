// ClusterQueue, Cohort, LocalQueue, ResourceFlavor and WorkloadPriorityClass, in both served
// versions.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/model/member_labels.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/pod_template.h"
#include "schedd/shapes/parts/requeue_wait.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kImageBytes = 1024;
constexpr std::string_view kTopLevel[] = {"apiVersion", "kind", "metadata", "spec", "status"};

void OnlyTopLevel(const Field& root) {
  root.OnlyMembers({kTopLevel[0], kTopLevel[1], kTopLevel[2], kTopLevel[3], kTopLevel[4]});
}

// v1beta1 and v1beta2 call it differently; both are taken in both, one at a time.
std::string ReadEither(const Field& spec, std::string_view one, std::string_view other) {
  const Field first = spec[one];
  const Field second = spec[other];
  const std::string_view a = first.StringOr("");
  const std::string_view b = second.StringOr("");
  if (!a.empty() && !b.empty() && a != b)
    second.Fail("differs from " + std::string(one) + ", its name in another version");
  const Field& given = a.empty() ? second : first;
  const std::string name(a.empty() ? b : a);
  if (!name.empty() && !IsDnsSubdomain(name)) given.Fail(kDnsSubdomainRule);
  return name;
}

}  // namespace

LabelSelector ReadLabelSelector(const Field& selector) {
  selector.OnlyMembers({"matchLabels", "matchExpressions"});
  LabelSelector read;
  read.match_labels = ReadLabelMap(selector["matchLabels"]);
  for (const auto& item : selector["matchExpressions"].Elements()) {
    item.OnlyMembers({"key", "operator", "values"});
    Requirement requirement;
    if (item["key"].Require()) requirement.key = item["key"].StringOr("");
    if (!requirement.key.empty() && !IsQualifiedName(requirement.key))
      item["key"].Fail(kQualifiedNameRule);
    if (item["operator"].Require()) {
      requirement.op =
          item["operator"].OneOf({"In", "NotIn", "Exists", "DoesNotExist"}).value_or("Exists");
    }
    for (const auto& value : item["values"].Elements())
      requirement.values.emplace_back(value.StringOr(""));
    const bool needs_values = requirement.op == "In" || requirement.op == "NotIn";
    if (needs_values == requirement.values.empty()) {
      item["values"].Fail(needs_values ? "must not be empty for In and NotIn"
                                       : "must be empty for Exists and DoesNotExist");
    }
    read.match_expressions.push_back(std::move(requirement));
  }
  return read;
}

namespace {

// Left out: every namespace, as the manifests that people print leave it out and mean their jobs to
// run. Written as null: none, as Kueue has it.
std::optional<LabelSelector> ReadNamespaceSelector(const Field& spec) {
  const json::object* members = spec.Object();
  if (members == nullptr || !members->contains("namespaceSelector")) return LabelSelector{};
  const Field selector = spec["namespaceSelector"];
  if (selector.Object() == nullptr) return std::nullopt;
  return ReadLabelSelector(selector);
}

void AtMost(const Field& field, std::size_t size, std::size_t most) {
  if (size > most) field.Fail("must have at most " + std::to_string(most) + " entries");
}

std::string ReadDefaultImage(const Field& root) {
  const Field image = root["metadata"]["annotations"].Named(kDefaultImageAnnotation);
  const auto text = image.String();
  if (!text) return "";
  const bool spaced = std::any_of(text->begin(), text->end(), [](char c) { return c <= ' '; });
  if (text->empty() || text->size() > kImageBytes || spaced)
    image.Fail("must be the name of an image: at most 1024 bytes, no spaces");
  return std::string(*text);
}

}  // namespace

std::string NameOf(const Field& root) { return std::string(root["metadata"]["name"].StringOr("")); }

std::string NamespaceOf(const Field& root) {
  return std::string(root["metadata"]["namespace"].StringOr(""));
}

StopPolicy ReadStopPolicy(const Field& field) {
  const auto text = field.OneOf({"None", "Hold", "HoldAndDrain"});
  if (text == "Hold") return StopPolicy::kHold;
  if (text == "HoldAndDrain") return StopPolicy::kHoldAndDrain;
  return StopPolicy::kNone;
}

ClusterQueue ReadClusterQueue(const Field& root) {
  OnlyTopLevel(root);
  ClusterQueue queue;
  queue.name = NameOf(root);
  const Field spec = root["spec"];
  spec.OnlyMembers({"resourceGroups", "cohort", "cohortName", "queueingStrategy",
                    "namespaceSelector", "flavorFungibility", "preemption", "admissionChecks",
                    "admissionChecksStrategy", "stopPolicy", "fairSharing", "admissionScope",
                    "concurrentAdmissionPolicy"});
  queue.cohort = ReadEither(spec, "cohort", "cohortName");
  const auto strategy = spec["queueingStrategy"].OneOf({"BestEffortFIFO", "StrictFIFO"});
  if (strategy == "StrictFIFO") queue.strategy = QueueingStrategy::kStrictFifo;
  queue.namespace_selector = ReadNamespaceSelector(spec);
  queue.resource_groups = ReadResourceGroups(
      spec["resourceGroups"], {.limits_allowed = !queue.cohort.empty(),
                               .limits_message = "must be nil when cohort is empty"});
  ReadQueuePolicies(spec, &queue);
  queue.stop_policy = ReadStopPolicy(spec["stopPolicy"]);
  queue.default_image = ReadDefaultImage(root);
  queue.on_cluster_lost =
      ReadOnClusterLost(root["metadata"]["annotations"].Named("muster.io/on-cluster-lost"));
  queue.placement = ReadPlacementName(root["metadata"]["annotations"]);
  ReadQueueExtensions(root["metadata"]["annotations"], &queue);
  (void)ReadRequeueWaitMs(root["metadata"]["annotations"]);  // requeue_wait.h: read when it counts
  return queue;
}

Cohort ReadCohort(const Field& root) {
  OnlyTopLevel(root);
  Cohort cohort;
  cohort.name = NameOf(root);
  const Field spec = root["spec"];
  spec.OnlyMembers({"parent", "parentName", "resourceGroups", "fairSharing"});
  cohort.fair_weight = ReadFairWeight(spec["fairSharing"]);
  cohort.parent = ReadEither(spec, "parent", "parentName");
  cohort.resource_groups = ReadResourceGroups(spec["resourceGroups"],
                                              {.limits_allowed = !cohort.parent.empty(),
                                               .limits_message = "must be nil when parent is empty",
                                               .lending_at_most_nominal = false});
  return cohort;
}

ResourceFlavor ReadResourceFlavor(const Field& root) {
  OnlyTopLevel(root);
  ResourceFlavor flavor;
  flavor.name = NameOf(root);
  const Field spec = root["spec"];
  spec.OnlyMembers({"nodeLabels", "nodeTaints", "tolerations", "topologyName"});
  flavor.node_labels = ReadLabelMap(spec["nodeLabels"]);
  flavor.node_taints = ReadTaints(spec["nodeTaints"]);
  flavor.tolerations = ReadTolerations(spec["tolerations"]);
  AtMost(spec["nodeLabels"], flavor.node_labels.size(), limits::kFlavorLabels);
  AtMost(spec["nodeTaints"], flavor.node_taints.size(), limits::kFlavorLabels);
  AtMost(spec["tolerations"], flavor.tolerations.size(), limits::kFlavorLabels);
  const Field topology = spec["topologyName"];
  flavor.topology = topology.StringOr("");
  if (!flavor.topology.empty() && !IsDnsSubdomain(flavor.topology))
    topology.Fail(kDnsSubdomainRule);
  if (!flavor.topology.empty() && flavor.node_labels.empty())
    topology.Fail("needs at least one nodeLabel, to tell the flavor's machines from others");
  return flavor;
}

LocalQueue ReadLocalQueue(const Field& root) {
  OnlyTopLevel(root);
  LocalQueue queue;
  queue.name = NameOf(root);
  queue.ns = root["metadata"]["namespace"].StringOr("");
  const Field spec = root["spec"];
  if (!spec.Require()) return queue;
  spec.OnlyMembers({"clusterQueue", "stopPolicy", "fairSharing"});
  queue.fair_weight = ReadFairWeight(spec["fairSharing"]);
  const Field cluster_queue = spec["clusterQueue"];
  if (cluster_queue.Require()) {
    queue.cluster_queue = cluster_queue.StringOr("");
    if (!IsDnsSubdomain(queue.cluster_queue)) cluster_queue.Fail(kDnsSubdomainRule);
  }
  queue.stop_policy = ReadStopPolicy(spec["stopPolicy"]);
  queue.default_image = ReadDefaultImage(root);
  queue.placement = ReadPlacementName(root["metadata"]["annotations"]);
  return queue;
}

WorkloadPriorityClass ReadWorkloadPriorityClass(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "value", "description", "status"});
  WorkloadPriorityClass priority;
  priority.name = NameOf(root);
  const Field value = root["value"];
  if (value.Require())
    priority.value = static_cast<std::int32_t>(value.Int(INT32_MIN, INT32_MAX).value_or(0));
  priority.description = root["description"].StringOr("");
  return priority;
}

}  // namespace muster::shapes
