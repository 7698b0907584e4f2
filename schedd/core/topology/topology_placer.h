// TopologyPlacer: the questions of the flavor search to topology aware scheduling (rules A32, A45):
// are the machines of a flavor known, does its topology have the requested level, and is there a
// place for the pods, now or on empty machines. NodePlacer implements it; the search knows no
// domains.
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
  const PodSet* spec = nullptr;    // requests per pod, constraints and topology request
  std::int32_t count = 0;          // pods to place, after partial admission and reclaimable pods
  std::string flavor;              // the one flavor with a topology that it was assigned
  bool implied = false;            // no request: its queue has only flavors with a topology
  TopologyAssignmentPtr previous;  // elastic jobs: the machines of the slice that it replaces
};

/// The machines of all pod sets; or the pod set that has no place, and why: then `placed` has the
/// pod sets that were placed before it.
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
  /// `simulate_empty` on what would be free if no workload that admission placed ran. Unhealthy
  /// nodes to replace and updates by admission checks are in the job's record. Changes nothing.
  virtual TopologyPlacement Place(const JobRecord& job, std::span<const TopologyAsk> asks,
                                  bool simulate_empty) = 0;
};

}  // namespace muster::core
