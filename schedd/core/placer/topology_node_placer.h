// NodePlacer: the TopologyPlacer of a cycle (rules A43 to A48). It places a workload's pod sets on
// the machines of one member cluster, replaces failed nodes, and grows and shrinks elastic slices.
// Pure; keeps buffers between calls; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/member/placement.h"
#include "schedd/core/topology/topology_placer.h"
#include "schedd/core/topology/topology_solver.h"

namespace muster::core {

class NodePlacer final : public TopologyPlacer {
 public:
  /// `usage` is read at every call, and its forest is the one that is searched; `usage` and
  /// `settings` must outlive the placer.
  NodePlacer(const TopologyUsage* usage, const AdmissionSettings& settings);

  bool Knows(const std::string& flavor) const override;
  bool HasLevels(const std::string& flavor, const TopologyRequest& request) const override;
  /// Places all pod sets on one member cluster: the one where the job holds a reservation, else the
  /// first open one, by name or in the order of SetOrder, on which all have a place. If none has,
  /// the failure is that of the first member tried. Assignments and sentences are built for the
  /// answer only.
  TopologyPlacement Place(const JobRecord& job, std::span<const TopologyAsk> asks,
                          bool simulate_empty) override;
  /// Gives the members that a job may go to, best first; null: all, by name. Called by every Place.
  using OrderOf = std::function<const MemberOrder*(const JobRecord&)>;
  void SetOrder(OrderOf order_of) { order_of_ = std::move(order_of); }

  /// True if Place would succeed on what is free now.
  bool CanPlace(const JobRecord& job, std::span<const TopologyAsk> asks);

 private:
  friend class PlacementRun;

  TopologyPlacement Run(const JobRecord& job, std::span<const TopologyAsk> asks,
                        bool simulate_empty, bool only_whether);
  // The members to try, in this order, as indices of the forest.
  std::vector<std::size_t> ClustersFor(const JobRecord& job, std::span<const TopologyAsk> asks,
                                       const MemberOrder* order) const;

  const TopologyUsage& usage_;
  const AdmissionSettings& settings_;
  TopologySolver solver_;
  LeafMatcher matcher_;
  TopologyUsage assumed_;  // empty between calls
  OrderOf order_of_;
};

}  // namespace muster::core
