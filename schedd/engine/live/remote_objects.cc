// The names that attempts have on members. An object keeps the namespace and name of its job (rule
// D3), because its kind derives names of pods from them, so the name says nothing about the
// attempt; that two attempts never hold one name at a time is what these comparisons are for.
#include "schedd/engine/live/remote_objects.h"

#include <functional>

#include "schedd/engine/context/object_names.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster {

// Its other fields (uid, incarnation) are empty until the member has answered.
DispatchRow IntentOf(const JobRecord& job) {
  DispatchRow row;
  row.key = CurrentKey(job);
  row.job = job.id;
  RemoteObject object = shapes::RemoteObjectOf(job);
  row.object_kind = std::move(object.kind);
  row.ns = std::move(object.ns);
  row.name = std::move(object.name);
  return row;
}

// The row does not store the API version: each kind has one.
RemoteObject ObjectOf(const DispatchRow& row) {
  return {std::string(shapes::ApiVersionOf(row.object_kind)), row.object_kind, row.ns, row.name};
}

// Namespaces and names cannot contain a slash, so different names give different texts.
std::size_t NameHash(const DispatchRow& row) {
  std::string text = row.key.cluster;
  for (const std::string* part : {&row.object_kind, &row.ns, &row.name}) text += '/' + *part;
  return std::hash<std::string>{}(text);
}

bool SameName(const DispatchRow& a, const DispatchRow& b) {
  return a.key.cluster == b.key.cluster && a.object_kind == b.object_kind && a.ns == b.ns &&
         a.name == b.name;
}

}  // namespace muster
