#include "schedd/engine/context/object_names.h"

#include <algorithm>

#include "schedd/shapes/config/queue_objects.h"

namespace muster {

// All kinds of jobs are "job" here: events and audit rows name a job in one way, whatever its kind.
std::string ObjectName(const JobRecord& job) { return "job/" + job.ns + "/" + job.name; }

// Kinds are in lower case in these names, as in paths of the API; ASCII only, because kinds are.
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
