// TopologyPlacer: what the flavor search asks of topology aware scheduling (rules A32, A45):
// does a flavor know its machines, does it have the level asked for, and is there a place for the
// pods, now or on an empty cluster. Implemented by the topology code; the search knows no domains.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/model/topology.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// One pod set of a workload that has to be placed on machines of a flavor.
struct TopologyAsk {
  std::size_t pod_set = 0;         // index in the workload
  const PodSet* spec = nullptr;    // what one pod asks of its machine, constraints, request
  std::int32_t count = 0;          // pods to place (partial admission, reclaimed pods considered)
  std::string flavor;              // the one topology flavor that it was assigned
  bool implied = false;            // it asked for none: its queue has topology flavors only
  TopologyAssignmentPtr previous;  // elastic: where the slice that it replaces stands
};

/// Where they go, or which pod set does not and why; then `placed` has those that did before it.
struct TopologyPlacement {
  std::vector<std::pair<std::size_t, TopologyAssignmentPtr>> placed;  // by index of the pod set
  std::string cluster;  // the member cluster of all of them
  bool failed = false;
  std::size_t failed_pod_set = 0;
  std::string failed_flavor;
  std::string failure;  // the sentence of rule A47
};

class TopologyPlacer {
 public:
  virtual ~TopologyPlacer() = default;
  /// True if the machines of this flavor are known: it names a Topology that exists.
  virtual bool Knows(const std::string& flavor) const = 0;
  /// True if the flavor's topology has every level that the request names.
  virtual bool HasLevels(const std::string& flavor, const TopologyRequest& request) const = 0;
  /// Places all of `asks`, those of one pod set group together, on what is free now; with
  /// `simulate_empty` on what would be free if no workload that admission placed ran. The job tells
  /// of unhealthy nodes to replace and of updates by admission checks. Changes nothing.
  virtual TopologyPlacement Place(const JobRecord& job, std::span<const TopologyAsk> asks,
                                  bool simulate_empty) = 0;
};

}  // namespace muster::core
