#include "schedd/engine/live/remote_objects.h"

#include <functional>

#include "schedd/engine/context/object_names.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster {

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

RemoteObject ObjectOf(const DispatchRow& row) {
  return {std::string(shapes::ApiVersionOf(row.object_kind)), row.object_kind, row.ns, row.name};
}

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
