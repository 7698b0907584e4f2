// The part of topology aware scheduling in the flavor search (rule A32): which pod sets are placed
// on machines, whether a flavor suits them, and the placement after quota was found. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"

namespace muster::core {

/// True if the pod set itself asks for a topology, in any of its forms.
bool RequestsTopology(const PodSet& pod_set);

/// Topology aware scheduling of one ClusterQueue.
class QueueTopology {
 public:
  /// All arguments must outlive this object; `placer` may be null.
  QueueTopology(const ConfigView& config, const AdmissionSettings& settings,
                const ClusterQueue& queue, TopologyPlacer* placer);

  /// True if pods of this set are placed on machines: the pod set asks for it, or every flavor of
  /// the queue has a topology.
  bool Concerns(const PodSet& pod_set) const;
  /// "" if the flavor, one of this resource group, suits the pod set, else the reason.
  std::string Mismatch(const PodSet& pod_set, const ResourceFlavor& flavor,
                       const ResourceGroup& group) const;
  /// True if the machines of this flavor are known.
  bool Knows(const std::string& flavor) const;
  /// The placements that an assignment needs. Sets the error of pod sets that cannot be placed at
  /// all, and marks those whose placement waits for an admission check (topology_delayed).
  std::vector<TopologyAsk> Asks(const JobRecord& job, const Demand& demand,
                                const AssignRequest& request, Assignment* assignment) const;
  /// Places the pods of an assignment that quota serves, now or after preemption, and corrects its
  /// modes, reasons and attempts by the result.
  void Place(const JobRecord& job, const Demand& demand, const AssignRequest& request,
             Assignment* assignment) const;

 private:
  /// The one flavor with known machines among a pod set's flavors; "" and an error if there is none
  /// or more than one.
  std::string SoleFlavor(const PodSetFlavors& pod_set, std::string* error) const;
  /// True if an admission check may still change the machines.
  bool Delayed(const JobRecord& job, const std::string& flavor) const;

  const ConfigView& config_;
  const AdmissionSettings& settings_;
  const ClusterQueue& queue_;
  TopologyPlacer* placer_;
  bool only_ = false;  // every flavor of the queue names a topology
  bool any_ = false;   // the machines of some flavor are known
};

}  // namespace muster::core
