// Fair shares (KEP-1714, rule A39): how much of what its siblings could lend a node borrows.
// Pure functions of a Usage.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// A share as what it is compared by: infinite ones are above all others.
struct ShareRank {
  bool infinite = false;
  double value = 0;  // weighted; of an infinite share unweighted
  auto operator<=>(const ShareRank&) const = default;
};

/// The dominant resource share of a node of the cohort tree.
struct Share {
  double weight = 1;
  double unweighted = 0;        // thousandths of what the parent could lend of `dominant`
  ResourceIndex dominant = -1;  // the resource borrowed most; -1: none
  bool borrowing = false;       // uses more than its quota of some pair

  /// Weight 0 and borrowing: beyond every share of a node with a weight.
  bool Infinite() const { return weight == 0 && (borrowing || unweighted > 0); }
  /// unweighted / weight; infinity for Infinite().
  double Weighted() const;
  ShareRank Rank() const { return {Infinite(), Infinite() ? unweighted : Weighted()}; }
  /// What a status shows: rounded up; the largest int64 for Infinite().
  std::int64_t Rounded() const;
};

/// <0, 0, >0. The lower share comes first in admission, the higher one gives up workloads first.
int Compare(const Share& a, const Share& b);

/// The share of `node`; 0 without a parent.
Share ShareOf(const Usage& usage, NodeIndex node);

/// The share that the node would have with `more` added to its own usage and to nothing else.
Share ShareWith(const Usage& usage, NodeIndex node, std::span<const Charge> more);

/// True if the node borrows on a pair of which `wanted` has more than 0. False without a parent.
bool BorrowsOn(const Usage& usage, NodeIndex node, std::span<const Charge> wanted);

/// The weighted share in the fewest digits that read back the same: "2.5", "200"; "+Inf".
std::string WeightedShareText(const Share& share);

}  // namespace muster::core
