// Configuration objects into a ConfigView and out of it, with what of each may not change.
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/parts/pod_amounts.h"

namespace muster::shapes {
namespace {

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

Status PutOverride(const json::value& manifest, ResourceOverride (*read)(const Field&),
                   ConfigView* config) {
  ResourceOverride one;
  if (auto status = Store(manifest, read, &one); !status.ok()) return status;
  const std::pair key(one.ns, one.name);
  const auto old = config->overrides.find(key);
  if (old != config->overrides.end()) {
    if (auto status = CheckOverrideChange(old->second, one); !status.ok()) return status;
  }
  config->overrides[key] = std::move(one);
  return Done{};
}

Status PutEnvelope(const json::value& manifest, ResourceEnvelope (*read)(const Field&),
                   ConfigView* config) {
  ResourceEnvelope envelope;
  if (auto status = Store(manifest, read, &envelope); !status.ok()) return status;
  const std::pair key(envelope.ns, envelope.name);
  config->envelopes[key] = std::move(envelope);
  return Done{};
}

template <class Map>
void Erase(Map* map, const typename Map::key_type& key) {
  map->erase(key);
}

void ErasePlacement(ConfigView* config, const std::string& ns, const std::string& name) {
  if (config->placements->Find(ns, name) == nullptr) return;
  EditPlacements(config, [&](PlacementTable* table) { table->Erase(ns, name); });
}

}  // namespace

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
    case ObjectKind::kClusterResourceOverride:
      return PutOverride(manifest, ReadClusterResourceOverride, config);
    case ObjectKind::kResourceOverride:
      return PutOverride(manifest, ReadResourceOverride, config);
    case ObjectKind::kClusterResourceEnvelope:
      return PutEnvelope(manifest, ReadClusterResourceEnvelope, config);
    case ObjectKind::kResourceEnvelope:
      return PutEnvelope(manifest, ReadResourceEnvelope, config);
    case ObjectKind::kConfigMap:
    case ObjectKind::kSecret:
      return Done{};  // decisions do not look at them
  }
  return Internal("unknown kind of object");
}

void RemoveFrom(ConfigView* config, ObjectKind kind, const std::string& ns,
                const std::string& name) {
  const std::pair<std::string, std::string> key(ns, name);
  switch (kind) {
    case ObjectKind::kNamespace:
      return Erase(&config->namespaces, name);
    case ObjectKind::kResourceFlavor:
      return Erase(&config->flavors, name);
    case ObjectKind::kClusterQueue:
      return Erase(&config->cluster_queues, name);
    case ObjectKind::kCohort:
      return Erase(&config->cohorts, name);
    case ObjectKind::kLocalQueue:
      return Erase(&config->local_queues, key);
    case ObjectKind::kWorkloadPriorityClass:
      return Erase(&config->priority_classes, name);
    case ObjectKind::kMemberCluster:
      return Erase(&config->member_clusters, name);
    case ObjectKind::kTopology:
      return Erase(&config->topologies, name);
    case ObjectKind::kAdmissionCheck:
      return Erase(&config->admission_checks, name);
    case ObjectKind::kLimitRange:
      return Erase(&config->limit_ranges, key);
    case ObjectKind::kRuntimeClass:
      return Erase(&config->runtime_classes, name);
    case ObjectKind::kClusterResourcePlacement:
      return ErasePlacement(config, "", name);
    case ObjectKind::kResourcePlacement:
      return ErasePlacement(config, ns, name);
    case ObjectKind::kClusterResourcePlacementEviction:
    case ObjectKind::kResourcePlacementEviction:
      return Erase(&config->placement_evictions, key);
    case ObjectKind::kClusterResourcePlacementDisruptionBudget:
    case ObjectKind::kResourcePlacementDisruptionBudget:
      return Erase(&config->disruption_budgets, key);
    case ObjectKind::kClusterResourceOverride:
    case ObjectKind::kResourceOverride:
      return Erase(&config->overrides, key);
    case ObjectKind::kClusterResourceEnvelope:
    case ObjectKind::kResourceEnvelope:
      return Erase(&config->envelopes, key);
    case ObjectKind::kConfigMap:
    case ObjectKind::kSecret:
      return;
  }
}

}  // namespace muster::shapes
