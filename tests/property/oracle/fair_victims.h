// The victim search of fair sharing (rule A41), and the parts that both searches share.
#pragma once

#include <functional>

#include "tests/property/oracle/victims.h"

namespace muster::oracle {

std::vector<Victim> FindFairVictims(const World& world, const Wish& wish, Ledger* ledger);

/// True if `policy` allows evicting this item for the wish and the item holds a contested flavor.
bool MayEvict(const World& world, const Wish& wish, EvictPolicy policy, const HeldQuota& held);
/// True if workload `a` is evicted before `b` (rule A36).
bool BetterVictim(const World& world, int own_queue, int a, int b);
/// Puts removed items back, from the last but one to the first, as long as the wish still fits.
/// Returns the items that must stay out.
std::vector<std::size_t> FillBack(std::vector<std::size_t> removed, Ledger* ledger,
                                  const std::function<bool()>& fits);

}  // namespace muster::oracle
