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
  /// Of one pod: its effective request, max(init containers, sum of containers) + overhead.
  ResourceList requests;
  std::shared_ptr<const SchedulingConstraints> constraints;  // null: none
  /// The pod set may be admitted with this many pods (KEP-420).
  std::optional<std::int32_t> min_count = std::nullopt;
  /// Null: no topology request (KEP-2724).
  std::shared_ptr<const TopologyRequest> topology = nullptr;
  /// The request of one pod before transformations and exclusions made quota of it; topology
  /// placement counts it. Null: the same as requests.
  std::shared_ptr<const ResourceList> node_requests = nullptr;
  /// By content, also of what it points to.
  bool operator==(const PodSet& other) const;
};

using PodSets = std::vector<PodSet>;
using PodSetsPtr = std::shared_ptr<const PodSets>;

/// What admission decided for one pod set.
struct PodSetAssignment {
  std::string name;
  std::int32_t count = 0;
  /// From resource to ResourceFlavor.
  std::map<std::string, std::string> flavors;
  /// Of all its pods.
  ResourceList usage;
  /// Null: admission did not place it on nodes.
  TopologyAssignmentPtr topology = nullptr;
  /// delayedTopologyRequest Pending (rule A32).
  bool topology_delayed = false;
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
