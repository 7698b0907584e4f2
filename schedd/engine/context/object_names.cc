#include "schedd/engine/context/object_names.h"

#include <algorithm>

#include "schedd/shapes/config/queue_objects.h"

namespace muster {

std::string ObjectName(const JobRecord& job) { return "job/" + job.ns + "/" + job.name; }

std::string ObjectName(const StoredObject& object) {
  std::string name = shapes::InfoOf(object.kind).name;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (!object.ns.empty()) name += "/" + object.ns;
  return name + "/" + object.name;
}

DispatchKey CurrentKey(const JobRecord& job) { return {job.uid, job.attempt, job.cluster}; }

}  // namespace muster
