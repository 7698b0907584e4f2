#include "schedd/shapes/queue_objects.h"

#include <algorithm>
#include <charconv>

#include "schedd/base/names.h"
#include "schedd/shapes/metadata.h"
#include "schedd/shapes/object_readers.h"
#include "schedd/shapes/pod_amounts.h"
#include "schedd/text/base64.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kOwnGroups[] = {"kueue.x-k8s.io", "cluster.kubernetes-fleet.io",
                                           "placement.kubernetes-fleet.io"};

std::string_view TextAt(const json::value& document, std::string_view key) {
  const auto* object = document.if_object();
  const auto* value = object == nullptr ? nullptr : object->if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                : std::string_view();
}

std::string_view GroupOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}
std::string_view VersionOf(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
}

bool Serves(const KindInfo& info, std::string_view version) {
  return version == info.versions[0] ||
         (info.versions[1] != nullptr && version == info.versions[1]);
}

const KindInfo* FindDocumentKind(std::string_view api_version, std::string_view kind) {
  for (const auto& info : Kinds()) {
    if (kind == info.name && GroupOf(api_version) == info.group) return &info;
  }
  return nullptr;
}

Error UnknownKind(std::string_view api_version, std::string_view kind) {
  const std::string named(kind.substr(0, 80));
  const std::string_view group = GroupOf(api_version);
  if (std::find(std::begin(kOwnGroups), std::end(kOwnGroups), group) != std::end(kOwnGroups)) {
    return InvalidField("kind",
                        named + " of " + std::string(group) + " is not supported by this version");
  }
  return InvalidField("kind", "no object of this kind is known: " +
                                  Quoted(std::string(api_version) + ", " + std::string(kind)));
}

// Checks all but metadata.
void ReadBody(ObjectKind kind, const Field& root) {
  switch (kind) {
    case ObjectKind::kNamespace:
      ReadNamespace(root);
      return;
    case ObjectKind::kResourceFlavor:
      ReadResourceFlavor(root);
      return;
    case ObjectKind::kClusterQueue:
      ReadClusterQueue(root);
      return;
    case ObjectKind::kCohort:
      ReadCohort(root);
      return;
    case ObjectKind::kLocalQueue:
      ReadLocalQueue(root);
      return;
    case ObjectKind::kWorkloadPriorityClass:
      ReadWorkloadPriorityClass(root);
      return;
    case ObjectKind::kMemberCluster:
      ReadMemberCluster(root);
      return;
    case ObjectKind::kConfigMap:
      CheckConfigMap(root);
      return;
    case ObjectKind::kSecret:
      CheckSecret(root);
      return;
    case ObjectKind::kTopology:
      ReadTopology(root);
      return;
    case ObjectKind::kAdmissionCheck:
      ReadAdmissionCheck(root);
      return;
    case ObjectKind::kLimitRange:
      ReadLimitRange(root);
      return;
    case ObjectKind::kRuntimeClass:
      ReadRuntimeClass(root);
      return;
    case ObjectKind::kClusterResourcePlacement:
      ReadClusterResourcePlacement(root);
      return;
    case ObjectKind::kResourcePlacement:
      ReadResourcePlacement(root);
      return;
    case ObjectKind::kClusterResourcePlacementEviction:
      ReadClusterPlacementEviction(root);
      return;
    case ObjectKind::kResourcePlacementEviction:
      ReadPlacementEviction(root);
      return;
    case ObjectKind::kClusterResourcePlacementDisruptionBudget:
      ReadClusterDisruptionBudget(root);
      return;
    case ObjectKind::kResourcePlacementDisruptionBudget:
      ReadDisruptionBudget(root);
      return;
  }
}

void ReadMetadata(const Field& root, const KindInfo& info, ParsedObject* object) {
  const Field metadata = root["metadata"];
  if (!metadata.Require() || metadata.Object() == nullptr) return;
  CheckMetadataMembers(metadata);
  metadata["generateName"].Refuse("is for jobs; an object of this kind is named");
  object->name = ReadObjectName(metadata);
  CheckLabels(metadata["labels"]);
  CheckAnnotations(metadata["annotations"]);
  const Field ns = metadata["namespace"];
  if (const auto text = ns.String(); text && !text->empty()) {
    if (!info.namespaced) {
      ns.Fail(std::string("a ") + info.name + " belongs to no namespace");
    } else if (!IsDnsLabel(*text)) {
      ns.Fail(kDnsLabelRule);
    }
    object->ns = *text;
  }
  const Field version = metadata["resourceVersion"];
  if (const auto text = version.String(); text && !text->empty()) {
    const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(),
                                           object->expected_resource_version);
    if (ec != std::errc() || end != text->data() + text->size())
      version.Fail("must be a number that Muster gave");
  }
}

// A Secret's stringData is another way to write data, and never shown again.
void FoldStringData(json::object& secret) {
  auto* strings = secret.if_contains("stringData");
  if (strings == nullptr) return;
  if (strings->is_object()) {
    auto& data = secret["data"];
    if (!data.is_object()) data.emplace_object();
    // secret["data"] may have moved the members: look again.
    for (const auto& member : secret.at("stringData").as_object()) {
      data.get_object()[member.key()] = EncodeBase64(std::string_view(member.value().as_string()));
    }
  }
  secret.erase("stringData");
}

template <class T>
Status Store(const json::value& manifest, T (*read)(const Field&), T* out) {
  Problems problems;
  *out = read(Field(manifest, &problems));
  if (!problems.empty()) return problems.ToError();
  return Done{};
}

template <class T, class Map>
Status Put(const json::value& manifest, T (*read)(const Field&), Map* map) {
  T value;
  if (auto status = Store(manifest, read, &value); !status.ok()) return status;
  std::string name = value.name;
  (*map)[std::move(name)] = std::move(value);
  return Done{};
}

Status PutLocalQueue(const json::value& manifest, ConfigView* config) {
  LocalQueue queue;
  if (auto status = Store(manifest, ReadLocalQueue, &queue); !status.ok()) return status;
  const std::pair key(queue.ns, queue.name);
  const auto old = config->local_queues.find(key);
  if (old != config->local_queues.end() && old->second.cluster_queue != queue.cluster_queue) {
    return InvalidField("spec.clusterQueue",
                        "field is immutable: it is " + Quoted(old->second.cluster_queue));
  }
  config->local_queues[key] = std::move(queue);
  return Done{};
}

Status PutFlavor(const json::value& manifest, ConfigView* config) {
  ResourceFlavor flavor;
  if (auto status = Store(manifest, ReadResourceFlavor, &flavor); !status.ok()) return status;
  const auto old = config->flavors.find(flavor.name);
  if (old != config->flavors.end() && !old->second.topology.empty() &&
      old->second.topology != flavor.topology) {
    return InvalidField("spec.topologyName",
                        "field is immutable: it is " + Quoted(old->second.topology));
  }
  std::string name = flavor.name;
  config->flavors[std::move(name)] = std::move(flavor);
  return Done{};
}

Status PutClusterQueue(const json::value& manifest, ConfigView* config) {
  ClusterQueue queue;
  if (auto status = Store(manifest, ReadClusterQueue, &queue); !status.ok()) return status;
  const auto old = config->cluster_queues.find(queue.name);
  if (old != config->cluster_queues.end() &&
      old->second.concurrent_admission != queue.concurrent_admission) {
    return InvalidField("spec.concurrentAdmissionPolicy", "field is immutable");
  }
  std::string name = queue.name;
  config->cluster_queues[std::move(name)] = std::move(queue);
  return Done{};
}

Status PutTopology(const json::value& manifest, ConfigView* config) {
  Topology topology;
  if (auto status = Store(manifest, ReadTopology, &topology); !status.ok()) return status;
  const auto old = config->topologies.find(topology.name);
  if (old != config->topologies.end() && old->second.levels != topology.levels &&
      !(EndsAtHosts(old->second) && EndsAtHosts(topology))) {
    return InvalidField("spec.levels",
                        "may only change while kubernetes.io/hostname is and stays the lowest");
  }
  std::string name = topology.name;
  config->topologies[std::move(name)] = std::move(topology);
  return Done{};
}

Status PutAdmissionCheck(const json::value& manifest, ConfigView* config) {
  AdmissionCheck check;
  if (auto status = Store(manifest, ReadAdmissionCheck, &check); !status.ok()) return status;
  const auto old = config->admission_checks.find(check.name);
  if (old != config->admission_checks.end() && old->second.controller != check.controller) {
    return InvalidField("spec.controllerName",
                        "field is immutable: it is " + Quoted(old->second.controller));
  }
  std::string name = check.name;
  config->admission_checks[std::move(name)] = std::move(check);
  return Done{};
}

Status PutLimitRange(const json::value& manifest, ConfigView* config) {
  LimitRange range;
  if (auto status = Store(manifest, ReadLimitRange, &range); !status.ok()) return status;
  CompleteDefaults(&range);
  const std::pair key(range.ns, range.name);
  config->limit_ranges[key] = std::move(range);
  return Done{};
}

template <class Edit>
void EditPlacements(ConfigView* config, const Edit& edit) {
  auto table = std::make_shared<PlacementTable>(*config->placements);
  edit(table.get());
  config->placements = std::move(table);
}

Status PutPlacement(const json::value& manifest, Placement (*read)(const Field&),
                    ConfigView* config) {
  auto placement = std::make_shared<Placement>();
  if (auto status = Store(manifest, read, placement.get()); !status.ok()) return status;
  const PlacementPtr old = config->placements->Find(placement->ns, placement->name);
  if (old != nullptr) {
    if (auto status = CheckPlacementChange(*old, *placement); !status.ok()) return status;
  }
  EditPlacements(config, [&](PlacementTable* table) { table->Put(std::move(placement)); });
  return Done{};
}

Status PutEviction(const json::value& manifest, PlacementEviction (*read)(const Field&),
                   ConfigView* config) {
  PlacementEviction eviction;
  if (auto status = Store(manifest, read, &eviction); !status.ok()) return status;
  const std::pair key(eviction.ns, eviction.name);
  const auto old = config->placement_evictions.find(key);
  if (old != config->placement_evictions.end()) {
    if (auto status = CheckEvictionChange(old->second, eviction); !status.ok()) return status;
  }
  config->placement_evictions[key] = std::move(eviction);
  return Done{};
}

Status PutBudget(const json::value& manifest, DisruptionBudget (*read)(const Field&),
                 ConfigView* config) {
  DisruptionBudget budget;
  if (auto status = Store(manifest, read, &budget); !status.ok()) return status;
  const std::pair key(budget.ns, budget.name);
  config->disruption_budgets[key] = std::move(budget);
  return Done{};
}

void ErasePlacement(ConfigView* config, const std::string& ns, const std::string& name) {
  if (config->placements->Find(ns, name) == nullptr) return;
  EditPlacements(config, [&](PlacementTable* table) { table->Erase(ns, name); });
}

}  // namespace

bool IsConfigObject(const json::value& document) {
  const std::string_view api_version = TextAt(document, "apiVersion");
  const auto* info = FindDocumentKind(api_version, TextAt(document, "kind"));
  return info != nullptr && Serves(*info, VersionOf(api_version));
}

Result<ParsedObject> ParseObject(const json::value& document) {
  if (!document.is_object()) return InvalidArgument("a manifest must be an object");
  const std::string_view api_version = TextAt(document, "apiVersion");
  const std::string_view kind = TextAt(document, "kind");
  if (api_version.empty()) return InvalidField("apiVersion", "is required");
  if (kind.empty()) return InvalidField("kind", "is required");
  const auto* info = FindDocumentKind(api_version, kind);
  if (info == nullptr) return UnknownKind(api_version, kind);
  if (!Serves(*info, VersionOf(api_version))) {
    std::string versions = info->versions[0];
    if (info->versions[1] != nullptr) versions += std::string(" and ") + info->versions[1];
    return InvalidField("apiVersion", std::string(info->name) + " is served in " + versions +
                                          ", not " + Quoted(VersionOf(api_version)));
  }
  ParsedObject object;
  object.kind = info->kind;
  Problems problems;
  const Field root(document, &problems);
  ReadMetadata(root, *info, &object);
  ReadBody(info->kind, root);
  if (!problems.empty()) return problems.ToError();
  object.manifest = WithoutServerFields(document);
  if (info->kind == ObjectKind::kSecret) FoldStringData(object.manifest.get_object());
  return object;
}

Status ApplyTo(ConfigView* config, ObjectKind kind, const json::value& manifest) {
  switch (kind) {
    case ObjectKind::kNamespace:
      return Put(manifest, ReadNamespace, &config->namespaces);
    case ObjectKind::kResourceFlavor:
      return PutFlavor(manifest, config);
    case ObjectKind::kClusterQueue:
      return PutClusterQueue(manifest, config);
    case ObjectKind::kCohort:
      return Put(manifest, ReadCohort, &config->cohorts);
    case ObjectKind::kLocalQueue:
      return PutLocalQueue(manifest, config);
    case ObjectKind::kWorkloadPriorityClass:
      return Put(manifest, ReadWorkloadPriorityClass, &config->priority_classes);
    case ObjectKind::kMemberCluster:
      return Put(manifest, ReadMemberCluster, &config->member_clusters);
    case ObjectKind::kTopology:
      return PutTopology(manifest, config);
    case ObjectKind::kAdmissionCheck:
      return PutAdmissionCheck(manifest, config);
    case ObjectKind::kLimitRange:
      return PutLimitRange(manifest, config);
    case ObjectKind::kRuntimeClass:
      return Put(manifest, ReadRuntimeClass, &config->runtime_classes);
    case ObjectKind::kClusterResourcePlacement:
      return PutPlacement(manifest, ReadClusterResourcePlacement, config);
    case ObjectKind::kResourcePlacement:
      return PutPlacement(manifest, ReadResourcePlacement, config);
    case ObjectKind::kClusterResourcePlacementEviction:
      return PutEviction(manifest, ReadClusterPlacementEviction, config);
    case ObjectKind::kResourcePlacementEviction:
      return PutEviction(manifest, ReadPlacementEviction, config);
    case ObjectKind::kClusterResourcePlacementDisruptionBudget:
      return PutBudget(manifest, ReadClusterDisruptionBudget, config);
    case ObjectKind::kResourcePlacementDisruptionBudget:
      return PutBudget(manifest, ReadDisruptionBudget, config);
    case ObjectKind::kConfigMap:
    case ObjectKind::kSecret:
      return Done{};  // decisions do not look at them
  }
  return Internal("unknown kind of object");
}

void RemoveFrom(ConfigView* config, ObjectKind kind, const std::string& ns,
                const std::string& name) {
  switch (kind) {
    case ObjectKind::kNamespace:
      config->namespaces.erase(name);
      return;
    case ObjectKind::kResourceFlavor:
      config->flavors.erase(name);
      return;
    case ObjectKind::kClusterQueue:
      config->cluster_queues.erase(name);
      return;
    case ObjectKind::kCohort:
      config->cohorts.erase(name);
      return;
    case ObjectKind::kLocalQueue:
      config->local_queues.erase({ns, name});
      return;
    case ObjectKind::kWorkloadPriorityClass:
      config->priority_classes.erase(name);
      return;
    case ObjectKind::kMemberCluster:
      config->member_clusters.erase(name);
      return;
    case ObjectKind::kTopology:
      config->topologies.erase(name);
      return;
    case ObjectKind::kAdmissionCheck:
      config->admission_checks.erase(name);
      return;
    case ObjectKind::kLimitRange:
      config->limit_ranges.erase({ns, name});
      return;
    case ObjectKind::kRuntimeClass:
      config->runtime_classes.erase(name);
      return;
    case ObjectKind::kClusterResourcePlacement:
      ErasePlacement(config, "", name);
      return;
    case ObjectKind::kResourcePlacement:
      ErasePlacement(config, ns, name);
      return;
    case ObjectKind::kClusterResourcePlacementEviction:
    case ObjectKind::kResourcePlacementEviction:
      config->placement_evictions.erase({ns, name});
      return;
    case ObjectKind::kClusterResourcePlacementDisruptionBudget:
    case ObjectKind::kResourcePlacementDisruptionBudget:
      config->disruption_budgets.erase({ns, name});
      return;
    case ObjectKind::kConfigMap:
    case ObjectKind::kSecret:
      return;
  }
}

}  // namespace muster::shapes
