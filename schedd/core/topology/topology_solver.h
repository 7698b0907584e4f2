// TopologySolver: finds leaves for the pods of one pod set, and of its leader, in one tree
// (KEP-2724, rule A45). It works on numbers only and keeps its buffers between calls. Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/topology/topology_match.h"
#include "schedd/core/topology/topology_request.h"
#include "schedd/core/topology/topology_usage.h"

namespace muster::core {

/// The request of one pod for one resource; "pods" is among them.
struct PodNeed {
  std::int32_t resource = -1;  // index in the forest; -1: no machine has any
  std::int64_t amount = 0;
};

/// The number of pods on a leaf.
struct LeafCount {
  LeafIndex leaf = -1;
  std::int32_t count = 0;
  bool operator==(const LeafCount&) const = default;
};

/// The input of Solve. What it points to must outlive the call.
struct SolverTask {
  const TopologyTree* tree = nullptr;
  const TopologyUsage* usage = nullptr;  // null: as if no workload that admission placed ran
  /// What other pod sets of the workload take; null: nothing.
  const TopologyUsage* assumed = nullptr;
  const LeafMatch* match = nullptr;
  TopologySpec spec;
  std::span<const PodNeed> needs;         // of one pod, in the order of resource names
  std::span<const PodNeed> leader_needs;  // empty: there is no leader
  std::int64_t count = 0;
  DomainIndex within = -1;         // only leaves below this domain; -1: all leaves
  bool balanced = false;           // gate TASBalancedPlacement
  bool respect_preferred = false;  // gate TASRespectNodeAffinityPreferred
};

/// The counts of a domain. Phase 1: how much would fit; phase 2: how much is taken.
struct DomainCounts {
  std::int64_t pods = 0, slices = 0;
  std::int64_t pods_led = 0, slices_led = 0;  // the same beside a leader
  std::int64_t leaders = 0;
  std::int64_t preference = 0;  // the sum of the scores of the leaves below
};

/// Why Solve found no place; made into a sentence only if one is shown.
struct SolverRefusal {
  enum class Kind : std::uint8_t { kNoDomains, kTooSmall };
  Kind kind = Kind::kTooSmall;
  std::int32_t level = 0;    // the level where the search ended
  std::int64_t fitting = 0;  // the number of slices that would fit; of pods, if slices have size 1
};

class TopologySolver {
 public:
  /// True if there is a place for all pods; workers() and leaders() have it.
  bool Solve(const SolverTask& task);
  /// By leaf; only leaves with pods.
  const std::vector<LeafCount>& workers() const { return workers_; }
  const std::vector<LeafCount>& leaders() const { return leaders_; }
  /// The sentence of rule A47 for the last Solve, which must have been false and whose task must
  /// still exist. `resources`: the names of task.needs.
  std::string Failure(std::span<const std::string> resources) const;

 private:
  friend class BalancedPlacement;
  using Domains = std::vector<DomainIndex>;
  // One count of DomainCounts, and the same count beside a leader.
  struct Unit {
    std::int64_t DomainCounts::*alone;
    std::int64_t DomainCounts::*led;
  };
  static constexpr Unit kPodUnit = {&DomainCounts::pods, &DomainCounts::pods_led};
  static constexpr Unit kSliceUnit = {&DomainCounts::slices, &DomainCounts::slices_led};

  DomainCounts& At(DomainIndex domain) { return counts_[static_cast<std::size_t>(domain)]; }
  const DomainCounts& At(DomainIndex domain) const {
    return counts_[static_cast<std::size_t>(domain)];
  }
  std::int64_t leader_count() const { return task_->leader_needs.empty() ? 0 : 1; }

  void CountLeaves();
  void CountLeaf(LeafIndex leaf);
  void CountParent(DomainIndex domain, std::int32_t level);
  std::int64_t SlicesOf(std::int64_t pods) const;
  void SumUp();

  bool ComesBefore(DomainIndex a, DomainIndex b, bool for_leader) const;
  void SortForWorkers(Domains* domains) const;
  void SortForLeader(Domains* domains) const;
  std::size_t BestFit(const Domains& domains, std::size_t from, std::int64_t needed,
                      std::int64_t leaders, Unit unit) const;
  void PreferLeaderDomain(Domains* domains, std::int64_t needed, Unit unit) const;

  bool FindLevel(std::int32_t* level, Domains* found);
  DomainIndex FirstOf(DomainRange range) const;
  DomainIndex HoldingAll(DomainRange range) const;
  bool SpreadOver(std::int32_t level, Domains* found);
  bool Refuse(SolverRefusal::Kind kind, std::int32_t level, std::int64_t fitting);

  bool TakeLeast(Domains* domains, std::int64_t count, std::int64_t leaders, std::int64_t size,
                 Unit unit, Domains* taken);
  bool Descend(std::int32_t level, bool balanced, Domains* chosen);
  bool DescendBelow(DomainIndex parent, std::int64_t size, Domains* taken);
  void Collect(Domains* leaves);

  std::int64_t SlicesBelow(DomainIndex domain, std::int32_t level, std::int64_t size) const;
  std::string LayersText() const;
  std::string ExclusionsText(std::span<const std::string> resources) const;

  const SolverTask* task_ = nullptr;
  const TopologyTree* tree_ = nullptr;
  std::int64_t slices_needed_ = 0;
  std::vector<DomainCounts> counts_;   // by domain
  std::vector<std::int32_t> lacking_;  // by need: leaves that have no room because of it
  std::int32_t outside_ = 0;           // leaves outside task_->within
  std::vector<std::int64_t> free_;     // by need: the free amount on one leaf
  Domains chosen_, pool_, taken_;
  std::vector<LeafCount> workers_, leaders_;
  SolverRefusal refusal_;
};

}  // namespace muster::core
