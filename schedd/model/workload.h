// PodSet, Workload and Admission: the schedulable form of a Job. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/model/resources.h"
#include "schedd/model/scheduling.h"

namespace muster {

/// A homogeneous group of pods inside a workload.
struct PodSet {
  std::string name;
  std::int32_t count = 0;
  ResourceList requests;  // of one pod; effective request: max(init containers, sum of containers)
                          // + overhead
  std::shared_ptr<const SchedulingConstraints> constraints;  // null: none
};

using PodSets = std::vector<PodSet>;
using PodSetsPtr = std::shared_ptr<const PodSets>;

/// What admission decided for one pod set.
struct PodSetAssignment {
  std::string name;
  std::int32_t count = 0;
  std::map<std::string, std::string> flavors;  // resource -> ResourceFlavor
  ResourceList usage;                          // of all its pods
  bool operator==(const PodSetAssignment&) const = default;
};

/// Quota reserved for a workload.
struct Admission {
  std::string cluster_queue;
  std::vector<PodSetAssignment> pod_sets;
  bool operator==(const Admission&) const = default;
};
using AdmissionPtr = std::shared_ptr<const Admission>;

}  // namespace muster
