// The search for victims, written from rules A37 (classical) and A41 (fair sharing).
#pragma once

#include "tests/property/oracle/sums.h"

namespace muster::oracle {

enum class Cause { kOwnQueue, kReclamation, kFairSharing, kReclaimWhileBorrowing };

struct Victim {
  int workload = -1;
  Cause cause = Cause::kOwnQueue;
  bool operator==(const Victim&) const = default;
};

/// The request that victims are sought for. `pairs`: every pair with an amount above 0;
/// `contested`: the pairs that lack room.
struct Wish {
  int workload = -1;
  std::vector<Amount> amounts;  // by pair
  std::vector<int> pairs, contested;
};

/// Empty if no set of victims would help. The search changes the ledger and restores it before the
/// call returns. Of cohorts with equal shares, which Kueue orders by chance, the last by name comes
/// first.
std::vector<Victim> FindVictims(const World& world, const Wish& wish, Ledger* ledger);

/// True if every pair of the wish has room in the ledger.
bool HasRoom(const Sums& sums, int queue, const Wish& wish);

}  // namespace muster::oracle
