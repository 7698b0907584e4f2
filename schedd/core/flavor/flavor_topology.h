// What topology aware scheduling adds to the flavor search (rule A32): which pod sets it
// concerns, whether a flavor suits them, and the placement after quota has been found. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"

namespace muster::core {

/// True if the pod set itself asks for a topology, in whatever way.
bool RequestsTopology(const PodSet& pod_set);

/// Topology aware scheduling as one ClusterQueue knows it.
class QueueTopology {
 public:
  /// All must outlive it; `placer` may be null.
  QueueTopology(const ConfigView& config, const AdmissionSettings& settings,
                const ClusterQueue& queue, TopologyPlacer* placer);

  /// True if pods of this set are to be placed on machines: they ask for it, or every flavor of the
  /// queue has a topology.
  bool Concerns(const PodSet& pod_set) const;
  /// "" if the flavor, of this resource group, suits the pod set, else why not.
  std::string Mismatch(const PodSet& pod_set, const ResourceFlavor& flavor,
                       const ResourceGroup& group) const;
  /// True if the machines of this flavor are known.
  bool Knows(const std::string& flavor) const;
  /// What has to be placed of an assignment that quota serves. Pod sets for which that cannot be
  /// asked get their error, those whose placement waits for a check are marked.
  std::vector<TopologyAsk> Asks(const JobRecord& job, const Demand& demand,
                                const AssignRequest& request, Assignment* assignment) const;
  /// Places the pods of an assignment that quota serves, now or after preemption, and corrects its
  /// modes, reasons and attempts by what comes out (rule A32).
  void Place(const JobRecord& job, const Demand& demand, const AssignRequest& request,
             Assignment* assignment) const;
  /// What of an assignment has to be placed on machines; marks what is delayed or cannot be asked.

 private:
  std::string SoleFlavor(const PodSetFlavors& pod_set, std::string* error) const;
  bool Delayed(const JobRecord& job, const std::string& flavor) const;

  const ConfigView& config_;
  const AdmissionSettings& settings_;
  const ClusterQueue& queue_;
  TopologyPlacer* placer_;
  bool only_ = false;  // every flavor of the queue names a topology
  bool any_ = false;   // the machines of some flavor are known
};

}  // namespace muster::core
