// The part of statements.h for configuration objects. Each kind has a table of its own, which its
// entry names (shapes::KindInfo); the tables have the same columns, but for the namespace.
#pragma once

#include <string>

#include "schedd/shapes/config/object_kinds.h"

namespace muster::pg::sql {

/// $1 name, $2 uid, $3 generation, $4 resource_version, $5 creation_time, $6 manifest, $7 namespace
/// if namespaced.
inline std::string PutObjects(const shapes::KindInfo& kind) {
  const std::string key = kind.namespaced ? "namespace, name" : "name";
  return std::string("insert into ") + kind.table +
         " (name, uid, generation, resource_version, creation_time, manifest" +
         (kind.namespaced ? ", namespace" : "") +
         ") select * from unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], "
         "$6::json[]" +
         (kind.namespaced ? ", $7::text[]" : "") + ") on conflict (" + key +
         ") do update set uid = excluded.uid, generation = excluded.generation, resource_version = "
         "excluded.resource_version, creation_time = excluded.creation_time, manifest = "
         "excluded.manifest";
}
/// $1 name, $2 namespace if namespaced.
inline std::string DeleteObjects(const shapes::KindInfo& kind) {
  return kind.namespaced
             ? std::string("delete from ") + kind.table +
                   " o using unnest($1::text[], $2::text[]) as t (name, "
                   "namespace) where o.name = t.name and o.namespace = t.namespace"
             : std::string("delete from ") + kind.table + " where name = any ($1::text[])";
}
inline std::string ReadObjects(const shapes::KindInfo& kind) {
  const std::string ns = kind.namespaced ? "namespace" : "''";
  return "select " + ns +
         ", name, uid, generation, resource_version, creation_time, manifest from " + kind.table +
         " order by 1, 2";
}

}  // namespace muster::pg::sql
