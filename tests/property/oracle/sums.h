// Sums: the quota arithmetic of rule A25. Every figure is summed up anew from the list of held
// quota each time it is needed. Nodes are the queues by index, then the cohorts.
#pragma once

#include "tests/property/oracle/world.h"

namespace muster::oracle {

/// Quota that one workload holds. Items with `out` do not count: a search has removed them for a
/// while.
struct HeldQuota {
  int queue = 0;
  int workload = -1;            // -1: taken in this cycle, so no candidate for eviction
  std::vector<Amount> amounts;  // by pair
  bool out = false;
  std::set<int> pairs = {};  // the pairs of its flavors, also those of which it takes 0
};
using Ledger = std::vector<HeldQuota>;

/// The quota of a workload that has a holding.
HeldQuota HeldBy(const World& world, int workload);
/// All quota that is held in a world.
Ledger LedgerOf(const World& world);

/// Saturating: an unbounded amount stays unbounded.
Amount Plus(Amount a, Amount b);
Amount Minus(Amount a, Amount b);

/// How much a node borrows, as a share of its parent's quota (rule A39).
struct Share {
  double weighted = 0, unweighted = 0;
  bool infinite = false;  // weight 0 and borrowing
};
bool operator<(const Share& a, const Share& b);
bool operator==(const Share& a, const Share& b);

/// A borrowing level: the height in the tree at which the request no longer borrows.
struct Level {
  int height = 0;
  bool proper_subtree = false;  // the walk ends below the root
};

class Sums {
 public:
  /// Both must outlive it; the ledger may change between questions.
  Sums(const World& world, const Ledger& ledger);

  int Parent(int node) const;
  int Root(int node) const;
  bool IsQueue(int node) const { return node < queue_count_; }
  const std::vector<int>& Children(int node) const { return children_[Index(node)]; }
  const Place& PlaceOf(int node) const;
  const Limits& LimitsOf(int node, int pair) const;
  int Height(int node) const;

  Amount Subtree(int node, int pair) const;
  Amount Local(int node, int pair) const;  // the part that is not lent
  Amount Used(int node, int pair) const;
  Amount LocalAvailable(int node, int pair) const;
  Amount AvailableAt(int node, int pair) const;  // may be negative
  Amount Available(int queue, int pair) const;   // at least 0
  Amount Potential(int node, int pair) const;
  bool BorrowsWith(int node, int pair, Amount amount) const;
  bool WithinNominal(int node, const std::vector<int>& pairs) const;
  bool Borrows(int node) const;
  Level BorrowingLevel(int queue, int pair, Amount amount) const;
  Share DominantShare(int node) const;

 private:
  static std::size_t Index(int node) { return static_cast<std::size_t>(node); }
  const World& world_;
  const Ledger& ledger_;
  int queue_count_;
  std::vector<std::vector<int>> children_;
};

}  // namespace muster::oracle
