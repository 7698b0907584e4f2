#include "schedd/model/workload.h"

namespace muster {
namespace {

template <class T>
bool SameContent(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace

bool PodSet::operator==(const PodSet& other) const {
  return name == other.name && count == other.count && requests == other.requests &&
         min_count == other.min_count && SameContent(constraints, other.constraints) &&
         SameContent(topology, other.topology) && SameContent(node_requests, other.node_requests);
}

bool PodSetAssignment::operator==(const PodSetAssignment& other) const {
  return name == other.name && count == other.count && flavors == other.flavors &&
         usage == other.usage && topology_delayed == other.topology_delayed &&
         SameContent(topology, other.topology);
}

const PodSetAssignment* Admission::Find(const std::string& pod_set) const {
  for (const PodSetAssignment& assignment : pod_sets) {
    if (assignment.name == pod_set) return &assignment;
  }
  return nullptr;
}

}  // namespace muster
