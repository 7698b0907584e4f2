// Fair shares (KEP-1714, rule A39): how much a node borrows, relative to what its parent could
// lend. Pure functions of a Usage.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// The sort key of a share. Infinite shares are above all finite ones and are compared by their
/// unweighted value.
struct ShareRank {
  bool infinite = false;
  double value = 0;  // the weighted share; for an infinite share the unweighted one
  auto operator<=>(const ShareRank&) const = default;
};

/// The dominant resource share of a node of the cohort tree.
struct Share {
  double weight = 1;
  double unweighted = 0;        // borrowed, in thousandths of what the parent could lend
  ResourceIndex dominant = -1;  // the resource with the largest ratio; -1: none is borrowed
  bool borrowing = false;       // the node uses more than its quota of some pair

  /// True if the weight is 0 and the node borrows: its share is above every share with a weight.
  bool Infinite() const { return weight == 0 && (borrowing || unweighted > 0); }
  /// unweighted / weight; infinity if Infinite().
  double Weighted() const;
  ShareRank Rank() const { return {Infinite(), Infinite() ? unweighted : Weighted()}; }
  /// The share as a status shows it: rounded up; the largest int64 if Infinite().
  std::int64_t Rounded() const;
};

/// <0, 0 or >0. In admission the lower share comes first; in preemption the higher share gives up
/// workloads first.
int Compare(const Share& a, const Share& b);

/// The share of `node`; 0 for a node without a parent.
Share ShareOf(const Usage& usage, NodeIndex node);

/// The share that the node would have if `more` were added to its own usage only.
Share ShareWith(const Usage& usage, NodeIndex node, std::span<const Charge> more);

/// True if the node borrows some pair of which `wanted` asks for more than 0. False for a node
/// without a parent.
bool BorrowsOn(const Usage& usage, NodeIndex node, std::span<const Charge> wanted);

/// The weighted share in the fewest digits that read back as the same number ("2.5", "200");
/// "+Inf".
std::string WeightedShareText(const Share& share);

}  // namespace muster::core
