// The fair-sharing search (rule A41) and what both searches share.
#pragma once

#include <functional>

#include "tests/property/oracle/victims.h"

namespace muster::oracle {

std::vector<Victim> FindFairVictims(const World& world, const Wish& wish, Ledger* ledger);

/// True if `policy` lets the wish evict this item and its flavors are contested.
bool MayEvict(const World& world, const Wish& wish, Evict policy, const Held& held);
/// True if workload `a` is evicted rather than `b` (rule A36).
bool BetterVictim(const World& world, int own_queue, int a, int b);
/// Puts items back, last but one first, as long as the wish still fits; what has to stay out.
std::vector<std::size_t> FillBack(std::vector<std::size_t> removed, Ledger* ledger,
                                  const std::function<bool()>& fits);

}  // namespace muster::oracle
