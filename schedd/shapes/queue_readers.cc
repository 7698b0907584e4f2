// ClusterQueue, Cohort, LocalQueue, ResourceFlavor and WorkloadPriorityClass, in both served
// versions.
#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/object_readers.h"
#include "schedd/shapes/pod_template.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kTopLevel[] = {"apiVersion", "kind", "metadata", "spec", "status"};

void OnlyTopLevel(const Field& root) {
  root.OnlyMembers({kTopLevel[0], kTopLevel[1], kTopLevel[2], kTopLevel[3], kTopLevel[4]});
}

constexpr char kNotSupported[] = "is not supported by this version";

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

FungibilityPolicy ReadFungibility(const Field& field, std::string_view old_word,
                                  FungibilityPolicy otherwise) {
  const auto text = field.OneOf({"MayStopSearch", "TryNextFlavor", old_word});
  if (!text) return otherwise;
  return *text == "TryNextFlavor" ? FungibilityPolicy::kTryNextFlavor
                                  : FungibilityPolicy::kMayStopSearch;
}

void RefusePreemption(const Field& preemption) {
  if (preemption.Object() == nullptr) return;
  preemption.OnlyMembers({"reclaimWithinCohort", "borrowWithinCohort", "withinClusterQueue"});
  const auto only_never = [](const Field& field) {
    const auto text = field.OneOf({"Never", "LowerPriority", "Any", "LowerOrNewerEqualPriority"});
    if (text && *text != "Never")
      field.Fail("preemption is not supported by this version: leave it out or say Never");
  };
  only_never(preemption["reclaimWithinCohort"]);
  only_never(preemption["withinClusterQueue"]);
  const Field borrow = preemption["borrowWithinCohort"];
  borrow.OnlyMembers({"policy", "maxPriorityThreshold"});
  only_never(borrow["policy"]);
}

// A list or object that says nothing is no use of the feature.
void RefuseUnlessEmpty(const Field& field) {
  const json::value* value = field.value();
  if (value == nullptr) return;
  const bool empty = (value->is_array() && value->get_array().empty()) ||
                     (value->is_object() && value->get_object().empty());
  if (!empty) field.Fail(kNotSupported);
}

LabelSelector ReadSelector(const Field& selector) {
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

// Left out: every namespace, as the manifests that people print leave it out and mean their jobs to
// run. Written as null: none, as Kueue has it.
std::optional<LabelSelector> ReadNamespaceSelector(const Field& spec) {
  const json::object* members = spec.Object();
  if (members == nullptr || !members->contains("namespaceSelector")) return LabelSelector{};
  const Field selector = spec["namespaceSelector"];
  if (selector.Object() == nullptr) return std::nullopt;
  return ReadSelector(selector);
}

void AtMost(const Field& field, std::size_t size, std::size_t most) {
  if (size > most) field.Fail("must have at most " + std::to_string(most) + " entries");
}

}  // namespace

std::string NameOf(const Field& root) { return std::string(root["metadata"]["name"].StringOr("")); }

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
  for (const auto* field : {"admissionChecks", "admissionChecksStrategy", "fairSharing",
                            "admissionScope", "concurrentAdmissionPolicy"}) {
    RefuseUnlessEmpty(spec[field]);
  }
  RefusePreemption(spec["preemption"]);
  queue.cohort = ReadEither(spec, "cohort", "cohortName");
  const auto strategy = spec["queueingStrategy"].OneOf({"BestEffortFIFO", "StrictFIFO"});
  if (strategy == "StrictFIFO") queue.strategy = QueueingStrategy::kStrictFifo;
  queue.namespace_selector = ReadNamespaceSelector(spec);
  queue.resource_groups = ReadResourceGroups(
      spec["resourceGroups"], {.limits_allowed = !queue.cohort.empty(),
                               .limits_message = "must be nil when cohort is empty"});
  const Field fungibility = spec["flavorFungibility"];
  fungibility.OnlyMembers({"whenCanBorrow", "whenCanPreempt", "preference"});
  fungibility["preference"].Refuse(kNotSupported);
  queue.when_can_borrow =
      ReadFungibility(fungibility["whenCanBorrow"], "Borrow", queue.when_can_borrow);
  queue.when_can_preempt =
      ReadFungibility(fungibility["whenCanPreempt"], "Preempt", queue.when_can_preempt);
  queue.stop_policy = ReadStopPolicy(spec["stopPolicy"]);
  return queue;
}

Cohort ReadCohort(const Field& root) {
  OnlyTopLevel(root);
  Cohort cohort;
  cohort.name = NameOf(root);
  const Field spec = root["spec"];
  spec.OnlyMembers({"parent", "parentName", "resourceGroups", "fairSharing"});
  RefuseUnlessEmpty(spec["fairSharing"]);
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
  spec["topologyName"].Refuse(kNotSupported);
  flavor.node_labels = ReadLabelMap(spec["nodeLabels"]);
  flavor.node_taints = ReadTaints(spec["nodeTaints"]);
  flavor.tolerations = ReadTolerations(spec["tolerations"]);
  AtMost(spec["nodeLabels"], flavor.node_labels.size(), limits::kFlavorLabels);
  AtMost(spec["nodeTaints"], flavor.node_taints.size(), limits::kFlavorLabels);
  AtMost(spec["tolerations"], flavor.tolerations.size(), limits::kFlavorLabels);
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
  RefuseUnlessEmpty(spec["fairSharing"]);
  const Field cluster_queue = spec["clusterQueue"];
  if (cluster_queue.Require()) {
    queue.cluster_queue = cluster_queue.StringOr("");
    if (!IsDnsSubdomain(queue.cluster_queue)) cluster_queue.Fail(kDnsSubdomainRule);
  }
  queue.stop_policy = ReadStopPolicy(spec["stopPolicy"]);
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
