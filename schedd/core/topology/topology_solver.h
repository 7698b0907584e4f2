// TopologySolver: finds leaves for the pods of one pod set, and of its leader, in one tree
// (KEP-2724, rule A45). Works on numbers only; keeps its buffers between calls.
// Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/topology/topology_match.h"
#include "schedd/core/topology/topology_request.h"
#include "schedd/core/topology/topology_usage.h"

namespace muster::core {

/// What one pod takes of a resource. "pods" is among them.
struct PodNeed {
  std::int32_t resource = -1;  // of the forest; -1: no machine has any
  std::int64_t amount = 0;
};

/// Pods on a leaf.
struct LeafCount {
  LeafIndex leaf = -1;
  std::int32_t count = 0;
  bool operator==(const LeafCount&) const = default;
};

/// One question to the solver. What it points to must outlive the call.
struct SolverTask {
  const TopologyTree* tree = nullptr;
  const TopologyUsage* usage = nullptr;  // null: as if no workload that admission placed ran
  const TopologyUsage* assumed =
      nullptr;  // what other pod sets of the workload take; null: nothing
  const LeafMatch* match = nullptr;
  TopologySpec spec;
  std::span<const PodNeed> needs;         // of one pod, by resource name
  std::span<const PodNeed> leader_needs;  // empty: no leader
  std::int64_t count = 0;
  DomainIndex within = -1;         // only leaves below it; -1: everywhere
  bool balanced = false;           // gate TASBalancedPlacement
  bool respect_preferred = false;  // gate TASRespectNodeAffinityPreferred
};

/// What is free in a domain: in phase 1 how much would fit, in phase 2 how much is taken.
struct DomainCounts {
  std::int64_t pods = 0, slices = 0;
  std::int64_t pods_led = 0, slices_led = 0;  // beside a leader
  std::int64_t leaders = 0;
  std::int64_t preference = 0;  // scores of the leaves below
};

/// Why a question had the answer no; turned into a sentence only where one is shown.
struct SolverRefusal {
  enum class Kind : std::uint8_t { kNoDomains, kTooSmall };
  Kind kind = Kind::kTooSmall;
  std::int32_t level = 0;    // where the search ended
  std::int64_t fitting = 0;  // slices (or pods, with slices of one) that would fit
};

class TopologySolver {
 public:
  /// True if there is a place; workers() and leaders() tell where.
  bool Solve(const SolverTask& task);
  /// By leaf; only leaves with pods.
  const std::vector<LeafCount>& workers() const { return workers_; }
  const std::vector<LeafCount>& leaders() const { return leaders_; }
  /// The sentence of rule A47 for the last Solve, which must have answered no and whose task
  /// must still be there. `resources`: the names of task.needs.
  std::string Failure(std::span<const std::string> resources) const;

 private:
  friend class BalancedPlacement;
  using Domains = std::vector<DomainIndex>;
  // A count of DomainCounts and the same beside a leader.
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
  std::vector<std::int32_t> lacking_;  // by need: leaves that it keeps all pods away from
  std::int32_t outside_ = 0;           // leaves outside task_->within
  std::vector<std::int64_t> free_;     // of one leaf, by need
  Domains chosen_, pool_, taken_;
  std::vector<LeafCount> workers_, leaders_;
  SolverRefusal refusal_;
};

}  // namespace muster::core
