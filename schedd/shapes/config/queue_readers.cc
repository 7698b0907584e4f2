// ClusterQueue, Cohort, LocalQueue, ResourceFlavor and WorkloadPriorityClass: their readers, which
// take both served versions at once, and their entries in the table of kinds.
//
// A reader checks every field and goes on after a wrong one, so that one answer names all of them.
// What Muster adds to Kueue's queues stands in annotations (queue_extensions.cc); the long parts of
// a ClusterQueue's spec have files of their own (quota_groups.cc, queue_policies.cc). A field that
// may not change is compared where the new object replaces the old one, in PutInto
// (config_tables.h).
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/shared_directory.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/parts/pod_constraints.h"
#include "schedd/shapes/parts/requeue_wait.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kImageBytes = 1024;  // of the name of a container image
constexpr std::string_view kTopLevel[] = {"apiVersion", "kind", "metadata", "spec", "status"};

void OnlyTopLevel(const Field& root) {
  root.OnlyMembers({kTopLevel[0], kTopLevel[1], kTopLevel[2], kTopLevel[3], kTopLevel[4]});
}

// A name whose field v1beta1 and v1beta2 call differently. Both names are taken in both versions;
// where both are given they must agree.
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

// The operators and which of them have values are those of the Kubernetes API.
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

// spec.namespaceSelector. Absent, it selects every namespace: most published manifests leave it out
// and expect their jobs to run. An explicit null selects none, as it does under Kueue.
std::optional<LabelSelector> ReadNamespaceSelector(const Field& spec) {
  const json::object* members = spec.Object();
  if (members == nullptr || !members->contains("namespaceSelector")) return LabelSelector{};
  const Field selector = spec["namespaceSelector"];
  if (selector.Object() == nullptr) return std::nullopt;
  return ReadLabelSelector(selector);
}

void CheckEntryCount(const Field& field, std::size_t size, std::size_t most) {
  if (size > most) field.Fail("must have at most " + std::to_string(most) + " entries");
}

// Annotation muster.io/default-image or muster.io/tools-image.
std::string ReadImage(const Field& root, std::string_view annotation) {
  const Field image = root["metadata"]["annotations"].Named(annotation);
  const auto text = image.String();
  if (!text) return "";
  const bool spaced = std::any_of(text->begin(), text->end(), [](char c) { return c <= ' '; });
  if (text->empty() || text->size() > kImageBytes || spaced)
    image.Fail("must be the name of an image: at most 1024 bytes, no spaces");
  return std::string(*text);
}

std::string ReadSharedDirectories(const Field& root) {
  const Field field = root["metadata"]["annotations"].Named(kSharedDirectoriesAnnotation);
  const std::string text(field.StringOr(""));
  const auto parsed = ParseSharedDirectories(text);
  if (!parsed.ok()) field.Fail(parsed.error().detail);
  return text;
}

// What pods of batch scripts get from their queue.
template <class Queue>
void ReadBatchDefaults(const Field& root, Queue* queue) {
  queue->default_image = ReadImage(root, kDefaultImageAnnotation);
  queue->tools_image = ReadImage(root, kToolsImageAnnotation);
  queue->shared_directories = ReadSharedDirectories(root);
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
  ReadBatchDefaults(root, &queue);
  queue.on_cluster_lost =
      ReadOnClusterLost(root["metadata"]["annotations"].Named("muster.io/on-cluster-lost"));
  queue.placement = ReadPlacementName(root["metadata"]["annotations"]);
  ReadQueueExtensions(root["metadata"]["annotations"], &queue);
  // Only checked here: the engine reads the value from the manifest when it requeues a job.
  (void)ReadRequeueWaitMs(root["metadata"]["annotations"]);
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
  CheckEntryCount(spec["nodeLabels"], flavor.node_labels.size(), limits::kFlavorLabels);
  CheckEntryCount(spec["nodeTaints"], flavor.node_taints.size(), limits::kFlavorLabels);
  CheckEntryCount(spec["tolerations"], flavor.tolerations.size(), limits::kFlavorLabels);
  const Field topology = spec["topologyName"];
  flavor.topology = topology.StringOr("");
  if (!flavor.topology.empty() && !IsDnsSubdomain(flavor.topology))
    topology.Fail(kDnsSubdomainRule);
  // Without a label every machine of a member would be one of the flavor.
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
  ReadBatchDefaults(root, &queue);
  queue.placement = ReadPlacementName(root["metadata"]["annotations"]);
  queue.partition = ReadPartition(root["metadata"]["annotations"]);
  return queue;
}

namespace {

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

Status CheckFlavorChange(const ResourceFlavor& old, const ResourceFlavor& now) {
  // A topology may be added to a flavor that has none.
  if (old.topology.empty() || old.topology == now.topology) return Done{};
  return InvalidField("spec.topologyName", "field is immutable: it is " + Quoted(old.topology));
}

Status CheckClusterQueueChange(const ClusterQueue& old, const ClusterQueue& now) {
  if (old.concurrent_admission == now.concurrent_admission) return Done{};
  return InvalidField("spec.concurrentAdmissionPolicy", "field is immutable");
}

Status CheckLocalQueueChange(const LocalQueue& old, const LocalQueue& now) {
  if (old.cluster_queue == now.cluster_queue) return Done{};
  return InvalidField("spec.clusterQueue",
                      "field is immutable: it is " + Quoted(old.cluster_queue));
}

// A field of the spec by its newer name, or else by its older one.
std::string SpecText(const json::value& object, std::string_view newer, std::string_view older) {
  const std::string text = TextAt(object, {"spec", newer});
  return text.empty() ? TextAt(object, {"spec", older}) : text;
}

std::string CohortCell(const json::value& queue) { return SpecText(queue, "cohortName", "cohort"); }

std::string ParentCell(const json::value& cohort) {
  return SpecText(cohort, "parentName", "parent");
}

// Kueue's default where the manifest has none.
std::string StrategyCell(const json::value& queue) {
  const std::string strategy = TextAt(queue, {"spec", "queueingStrategy"});
  return strategy.empty() ? "BestEffortFIFO" : strategy;
}

constexpr PrinterColumn kFlavorColumns[] = {
    kNameColumn,
    TextColumn("TOPOLOGY", "spec.topologyName", true),
    PairsColumn("NODE LABELS", "spec.nodeLabels", true),
    kAgeColumn,
};

// Kueue's own columns, and with -o wide the quotas and why the queue is not active.
constexpr PrinterColumn kClusterQueueColumns[] = {
    kNameColumn,
    ComputedColumn("COHORT", CohortCell),
    TextColumn("PENDING WORKLOADS", "status.pendingWorkloads"),
    TextColumn("ADMITTED WORKLOADS", "status.admittedWorkloads"),
    ComputedColumn("STRATEGY", StrategyCell, true),
    QuotasColumn("NOMINAL", "nominal"),
    QuotasColumn("USED", "used"),
    QuotasColumn("BORROWED", "borrowed"),
    TextColumn("RESERVING", "status.reservingWorkloads", true),
    TextColumn("SHARE", "status.fairSharing.weightedShare", true),
    ConditionColumn("ACTIVE", "Active", "status", true),
    ConditionColumn("REASON", "Active", "reason", true),
    kAgeColumn,
};

constexpr PrinterColumn kCohortColumns[] = {
    kNameColumn,
    ComputedColumn("PARENT", ParentCell),
    TextColumn("SHARE", "status.fairSharing.weightedShare", true),
    kAgeColumn,
};

constexpr PrinterColumn kLocalQueueColumns[] = {
    kNameColumn,
    TextColumn("CLUSTERQUEUE", "spec.clusterQueue"),
    TextColumn("PENDING WORKLOADS", "status.pendingWorkloads"),
    TextColumn("ADMITTED WORKLOADS", "status.admittedWorkloads"),
    TextColumn("RESERVING", "status.reservingWorkloads", true),
    ConditionColumn("ACTIVE", "Active", "status", true),
    ConditionColumn("REASON", "Active", "reason", true),
    kAgeColumn,
};

constexpr PrinterColumn kPriorityClassColumns[] = {kNameColumn, TextColumn("VALUE", "value"),
                                                   kAgeColumn};

}  // namespace

constinit const KindInfo kResourceFlavorKind = {
    .kind = ObjectKind::kResourceFlavor,
    .name = "ResourceFlavor",
    .plural = "resourceflavors",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "resource_flavors",
    .check = CheckBy<ReadResourceFlavor>,
    .put = PutInto<ReadResourceFlavor, &ConfigView::flavors, CheckFlavorChange>,
    .remove = EraseFrom<&ConfigView::flavors>,
    .concern = Concern::kQueues,
    .sent = true,
    .short_names = {"flavor", "flavors", "rf"},
    .cli_name = "rf",
    .cli_place = 3,
    .columns = kFlavorColumns,
};

constinit const KindInfo kClusterQueueKind = {
    .kind = ObjectKind::kClusterQueue,
    .name = "ClusterQueue",
    .plural = "clusterqueues",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "cluster_queues",
    .check = CheckBy<ReadClusterQueue>,
    .put = PutInto<ReadClusterQueue, &ConfigView::cluster_queues, CheckClusterQueueChange>,
    .remove = EraseFrom<&ConfigView::cluster_queues>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kApi,
    .sent = true,
    .short_names = {"cq"},
    .cli_name = "cq",
    .cli_place = 1,
    .columns = kClusterQueueColumns,
};

constinit const KindInfo kCohortKind = {
    .kind = ObjectKind::kCohort,
    .name = "Cohort",
    .plural = "cohorts",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "cohorts",
    .check = CheckBy<ReadCohort>,
    .put = PutInto<ReadCohort, &ConfigView::cohorts>,
    .remove = EraseFrom<&ConfigView::cohorts>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kApi,
    .sent = true,
    .cli_place = 4,
    .columns = kCohortColumns,
};

constinit const KindInfo kLocalQueueKind = {
    .kind = ObjectKind::kLocalQueue,
    .name = "LocalQueue",
    .plural = "localqueues",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = true,
    .table = "local_queues",
    .check = CheckBy<ReadLocalQueue>,
    .put = PutInto<ReadLocalQueue, &ConfigView::local_queues, CheckLocalQueueChange>,
    .remove = EraseFrom<&ConfigView::local_queues>,
    .concern = Concern::kQueues,
    .status = StatusWriter::kApi,
    .sent = true,
    .short_names = {"queue", "queues", "lq"},
    .cli_name = "lq",
    .cli_place = 2,
    .columns = kLocalQueueColumns,
};

constinit const KindInfo kWorkloadPriorityClassKind = {
    .kind = ObjectKind::kWorkloadPriorityClass,
    .name = "WorkloadPriorityClass",
    .plural = "workloadpriorityclasses",
    .group = kKueueGroup,
    .versions = {"v1beta1", "v1beta2"},
    .namespaced = false,
    .table = "priority_classes",
    .check = CheckBy<ReadWorkloadPriorityClass>,
    .put = PutInto<ReadWorkloadPriorityClass, &ConfigView::priority_classes>,
    .remove = EraseFrom<&ConfigView::priority_classes>,
    .concern = Concern::kQueues,
    .sent = true,
    .cli_place = 5,
    .columns = kPriorityClassColumns,
};

}  // namespace muster::shapes
