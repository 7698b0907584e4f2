// PlacementRun: one placement of a workload's pod sets on one member cluster, with what the pod
// sets placed so far assume (rules A45, A48). Lives as long as one try of NodePlacer; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/placer/topology_node_placer.h"

namespace muster::core {

class PlacementRun {
 public:
  struct Options {
    std::size_t cluster = 0;
    bool simulate_empty = false;
    bool only_whether = false;  // build neither assignments nor sentences
  };
  /// All must outlive it. What it assumes is taken back from the placer's buffer at its end.
  PlacementRun(NodePlacer* placer, const JobRecord& job, std::span<const TopologyAsk> asks,
               const Options& options);
  ~PlacementRun();
  PlacementRun(const PlacementRun&) = delete;
  PlacementRun& operator=(const PlacementRun&) = delete;

  /// Flavor by flavor, in each group by group. False at the first that has no place.
  bool PlaceAll();
  TopologyPlacement Take() { return std::move(result_); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Pod sets placed together: of one group name, or one alone. Indices of asks.
  struct Group {
    std::string_view flavor, name;
    std::size_t workers = kNone, leader = kNone;
  };

  std::vector<Group> Groups() const;
  bool PlaceGroup(const Group& group);
  bool PlaceFresh(const Group& group);

  // Node replacement (topology_repair.cc).
  bool ReplaceNode(std::size_t ask);
  DomainIndex ReplacementDomain(const TopologyAsk& ask, const TopologyAssignment& kept,
                                std::int32_t missing) const;
  DomainIndex BrokenSliceDomain(const TopologyTree& tree, const TopologyAssignment& kept,
                                std::int32_t missing, const TopologyLayer& layer) const;
  // Elastic slices (topology_repair.cc). nullopt: nothing to build on, place afresh.
  std::optional<bool> PlaceElastic(const Group& group);
  bool Grow(const Group& group, std::int32_t more);

  /// Finds leaves for `count` pods of one ask, beside its leader if there is one; the solver keeps
  /// them. False and the failure recorded if there are none.
  bool Find(std::size_t workers, std::size_t leader, std::int32_t count,
            const TopologyRequest* request, DomainIndex within);
  void ListNeeds(const TopologyAsk& ask, std::vector<PodNeed>* needs,
                 std::vector<std::string>* names) const;

  const TopologyTree& TreeOf(std::size_t ask) const;
  std::span<const AdmissionCheckStatus> Checks() const;
  TopologyAssignment Build(std::size_t ask, const std::vector<LeafCount>& leaves) const;
  void Keep(std::size_t ask, TopologyAssignment assignment);
  void Assume(std::size_t ask, const std::vector<LeafCount>& leaves);
  void Assume(std::size_t ask, const TopologyAssignment& assignment);
  bool Fail(std::size_t ask, std::string why);

  NodePlacer& placer_;
  const JobRecord& job_;
  std::span<const TopologyAsk> asks_;
  Options options_;
  bool more_to_place_ = false;  // groups behind the current one
  std::vector<TopologyCharges> assumed_;
  TopologyPlacement result_;
};

}  // namespace muster::core
