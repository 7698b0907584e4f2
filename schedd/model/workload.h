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
#include "schedd/model/topology.h"

namespace muster {

/// A homogeneous group of pods inside a workload.
struct PodSet {
  std::string name;
  std::int32_t count = 0;
  ResourceList requests;  // of one pod; effective request: max(init containers, sum of containers)
                          // + overhead
  std::shared_ptr<const SchedulingConstraints> constraints;  // null: none
  std::optional<std::int32_t> min_count =
      std::nullopt;  // may be admitted with fewer pods (KEP-420)
  std::shared_ptr<const TopologyRequest> topology = nullptr;  // null: asks for none (KEP-2724)
  /// What one pod asks of its machine, before transformations and exclusions made quota of it
  /// (topology placement counts this); null: the same as requests.
  std::shared_ptr<const ResourceList> node_requests = nullptr;
  bool operator==(const PodSet& other) const;  // by content
};

using PodSets = std::vector<PodSet>;
using PodSetsPtr = std::shared_ptr<const PodSets>;

/// What admission decided for one pod set.
struct PodSetAssignment {
  std::string name;
  std::int32_t count = 0;
  std::map<std::string, std::string> flavors;  // resource -> ResourceFlavor
  ResourceList usage;                          // of all its pods
  TopologyAssignmentPtr topology = nullptr;    // null: not placed on nodes by admission
  bool topology_delayed = false;               // delayedTopologyRequest: Pending (rule A32)
  bool operator==(const PodSetAssignment& other) const;
};

/// Quota reserved for a workload.
struct Admission {
  std::string cluster_queue;
  std::vector<PodSetAssignment> pod_sets;
  /// Null if it has no pod set of that name.
  const PodSetAssignment* Find(const std::string& pod_set) const;
  bool operator==(const Admission&) const = default;
};
using AdmissionPtr = std::shared_ptr<const Admission>;

}  // namespace muster
