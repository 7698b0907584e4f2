// BalancedPlacement: spreads the slices of a preferred request as evenly over domains as the room
// allows (KEP-2724, balanced placement; rule A46; gate TASBalancedPlacement). It works on the
// counts of a solver whose phase 1 is done, and restores them if it finds no such spread. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/topology/topology_solver.h"

namespace muster::core {

class BalancedPlacement {
 public:
  explicit BalancedPlacement(TopologySolver* solver) : solver_(*solver) {}

  /// True if there is a balanced spread: then the solver's counts of `*domains`, which are of
  /// `*level`, are exactly their shares.
  bool Choose(std::int32_t* level, std::vector<DomainIndex>* domains);

 private:
  using Domains = std::vector<DomainIndex>;
  using Counts = std::vector<DomainCounts>;
  // The result of taking the largest domains first.
  struct GreedyUse {
    bool fits = false;
    std::int64_t used = 0;  // the number of domains taken
    // The last domain taken for the leader, and the last one for workers.
    DomainIndex last_led = -1, last = -1;
  };
  // Siblings at the requested level that hold everything, with the counts after pruning.
  struct Candidate {
    std::int64_t threshold = 0;  // the slices that each used domain gets at least; 0: none found
    std::int64_t used = 0;
    Domains siblings;
    Counts counts;
  };

  GreedyUse TakeGreedily(Domains domains) const;
  void Consider(const Domains& siblings, Candidate* best);
  bool Prune(const Domains& siblings, std::int64_t threshold, GreedyUse* greedy);
  void PruneDomain(DomainIndex domain, std::int64_t threshold);
  void ForEachBelow(DomainIndex domain, void (*change)(DomainCounts*));
  void Recount(DomainIndex domain);
  Domains ChildrenOf(const Domains& domains) const;
  bool FewestThatFit(Domains domains, bool by_entropy, Domains* chosen) const;
  bool ShareOut(std::int64_t threshold, Domains* domains);
  double Entropy(DomainIndex domain) const;
  bool HasMoreRoom(DomainIndex a, DomainIndex b) const;

  TopologySolver& solver_;
};

}  // namespace muster::core
