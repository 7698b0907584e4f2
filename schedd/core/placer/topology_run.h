// PlacementRun: one try to place a workload's pod sets on one member cluster; later pod sets see
// what the earlier ones take (rules A45, A48). Lives as long as one try of NodePlacer; pure.
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
  /// All arguments must outlive it. Its end takes back what it charged to the placer's buffer.
  PlacementRun(NodePlacer* placer, const JobRecord& job, std::span<const TopologyAsk> asks,
               const Options& options);
  ~PlacementRun();
  PlacementRun(const PlacementRun&) = delete;
  PlacementRun& operator=(const PlacementRun&) = delete;

  /// Places flavor by flavor and, within a flavor, group by group. False at the first without a
  /// place.
  bool PlaceAll();
  /// The result; to be called once, after PlaceAll.
  TopologyPlacement Take() { return std::move(result_); }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Pod sets that are placed together: those of one group name, or one alone. Indices of asks.
  struct Group {
    std::string_view flavor, name;
    std::size_t workers = kNone, leader = kNone;
  };

  std::vector<Group> Groups() const;
  bool PlaceGroup(const Group& group);
  bool PlaceFresh(const Group& group);

  // Replacement of a failed node (topology_repair.cc).
  bool ReplaceNode(std::size_t ask);
  DomainIndex ReplacementDomain(const TopologyAsk& ask, const TopologyAssignment& kept,
                                std::int32_t missing) const;
  DomainIndex BrokenSliceDomain(const TopologyTree& tree, const TopologyAssignment& kept,
                                std::int32_t missing, const TopologyLayer& layer) const;
  // Elastic slices (topology_repair.cc). nullopt: there is nothing to build on, so place afresh.
  std::optional<bool> PlaceElastic(const Group& group);
  bool Grow(const Group& group, std::int32_t more);

  /// Finds leaves for `count` pods of one ask and its leader, if there is one; the solver keeps
  /// them. `within`: the domain to stay in; -1: anywhere. False, with the failure recorded, if
  /// there are none.
  bool Find(std::size_t workers, std::size_t leader, std::int32_t count,
            const TopologyRequest* request, DomainIndex within);
  // The requests of one pod, `pods` among them, in name order, with the names of the resources.
  void ListNeeds(const TopologyAsk& ask, std::vector<PodNeed>* needs,
                 std::vector<std::string>* names) const;

  const TopologyTree& TreeOf(std::size_t ask) const;
  std::span<const AdmissionCheckStatus> Checks() const;
  // The leaves as the assignment of an ask.
  TopologyAssignment Build(std::size_t ask, const std::vector<LeafCount>& leaves) const;
  // Adds an assignment to the result.
  void Keep(std::size_t ask, TopologyAssignment assignment);
  // Charges the placer's buffer, so that the groups behind this one see it.
  void Assume(std::size_t ask, const std::vector<LeafCount>& leaves);
  void Assume(std::size_t ask, const TopologyAssignment& assignment);
  // Records the failure of an ask; always false.
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
