// The part of statements.h for configuration objects: one table a kind, all alike.
#pragma once

#include <string>

#include "schedd/model/queues.h"

namespace muster::pg::sql {

/// The table of a kind of configuration objects.
struct ObjectTable {
  ObjectKind kind;
  const char* name;
  bool namespaced;
};
inline constexpr ObjectTable kObjectTables[] = {
    {ObjectKind::kNamespace, "namespaces", false},
    {ObjectKind::kResourceFlavor, "resource_flavors", false},
    {ObjectKind::kClusterQueue, "cluster_queues", false},
    {ObjectKind::kCohort, "cohorts", false},
    {ObjectKind::kLocalQueue, "local_queues", true},
    {ObjectKind::kWorkloadPriorityClass, "priority_classes", false},
    {ObjectKind::kMemberCluster, "member_clusters", false},
    {ObjectKind::kConfigMap, "config_maps", true},
    {ObjectKind::kSecret, "secrets", true},
    {ObjectKind::kTopology, "topologies", false},
    {ObjectKind::kAdmissionCheck, "admission_checks", false},
    {ObjectKind::kLimitRange, "limit_ranges", true},
    {ObjectKind::kRuntimeClass, "runtime_classes", false},
    {ObjectKind::kClusterResourcePlacement, "cluster_resource_placements", false},
    {ObjectKind::kResourcePlacement, "resource_placements", true},
    {ObjectKind::kClusterResourcePlacementEviction, "cluster_placement_evictions", false},
    {ObjectKind::kResourcePlacementEviction, "placement_evictions", true},
    {ObjectKind::kClusterResourcePlacementDisruptionBudget, "cluster_disruption_budgets", false},
    {ObjectKind::kResourcePlacementDisruptionBudget, "disruption_budgets", true},
    {ObjectKind::kClusterResourceOverride, "cluster_resource_overrides", false},
    {ObjectKind::kResourceOverride, "resource_overrides", true},
    {ObjectKind::kClusterResourceEnvelope, "cluster_resource_envelopes", false},
    {ObjectKind::kResourceEnvelope, "resource_envelopes", true},
};

/// $1 name, $2 uid, $3 generation, $4 resource_version, $5 creation_time, $6 manifest, $7 namespace
/// if namespaced.
inline std::string PutObjects(const ObjectTable& table) {
  const std::string key = table.namespaced ? "namespace, name" : "name";
  return std::string("insert into ") + table.name +
         " (name, uid, generation, resource_version, creation_time, manifest" +
         (table.namespaced ? ", namespace" : "") +
         ") select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], "
         "$6::json[]" +
         (table.namespaced ? ", $7::text[]" : "") + ") on conflict (" + key +
         ") do update set uid = excluded.uid, generation = excluded.generation, resource_version = "
         "excluded.resource_version, creation_time = excluded.creation_time, manifest = "
         "excluded.manifest";
}
/// $1 name, $2 namespace if namespaced.
inline std::string DeleteObjects(const ObjectTable& table) {
  return table.namespaced
             ? std::string("delete from ") + table.name +
                   " o using unnest($1::text[], $2::text[]) as t (name, "
                   "namespace) where o.name = t.name and o.namespace = t.namespace"
             : std::string("delete from ") + table.name + " where name = any ($1::text[])";
}
inline std::string ReadObjects(const ObjectTable& table) {
  const std::string ns = table.namespaced ? "namespace" : "''";
  return "select " + ns +
         ", name, uid, generation, resource_version, creation_time, manifest from " + table.name +
         " order by 1, 2";
}

}  // namespace muster::pg::sql
