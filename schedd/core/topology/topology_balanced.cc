// BalancedPlacement (rule A46; KEP-2724).
//
// 1. For each set of siblings at the requested level, take the largest domains until everything
//    fits: that gives the number of domains to use. The threshold is the most that the least used
//    of them can get: min(needed / domains, capacity of the smallest used one).
// 2. Prune: domains that cannot hold the threshold are dropped, and the sums above are counted
//    anew. If the rest does not hold everything any more, a threshold that leaves place for the
//    leader is tried.
// 3. The siblings with the largest threshold win; among equals those that use fewer domains.
// 4. Of these, choose the fewest domains with the least left over (FewestThatFit), give each the
//    threshold, and the remainder to the first ones that have room (ShareOut).
//
// If the request is above the slice level, the balance is over the children of the siblings.
#include "schedd/core/topology/topology_balanced.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace muster::core {

// Restores the counts before it returns false.
bool BalancedPlacement::Choose(std::int32_t* level, std::vector<DomainIndex>* domains) {
  const TopologySpec& spec = solver_.task_->spec;
  const TopologyTree& tree = *solver_.tree_;
  const Counts before = solver_.counts_;
  Candidate best;
  // Siblings: the children of one domain above the requested level; at the top all domains.
  const DomainRange range = tree.Level(spec.level);
  for (DomainIndex begin = range.begin; begin < range.end;) {
    Domains siblings;
    for (DomainIndex at = begin; at < range.end && tree.Parent(at) == tree.Parent(begin); ++at)
      siblings.push_back(at);
    begin += static_cast<DomainIndex>(siblings.size());
    Consider(siblings, &best);
    solver_.counts_ = before;
  }
  if (best.threshold <= 0) return false;
  solver_.counts_ = std::move(best.counts);
  *domains = best.siblings;
  *level = spec.level;
  bool found = true;
  if (spec.level < spec.slice_level) {
    Domains few;
    found = FewestThatFit(*domains, true, &few);
    *domains = ChildrenOf(few);
    ++*level;
  }
  if (found && ShareOut(best.threshold, domains)) return true;
  solver_.counts_ = before;
  return false;
}

// The leader's domains first, then workers by most room.
BalancedPlacement::GreedyUse BalancedPlacement::TakeGreedily(Domains domains) const {
  std::int64_t slices = solver_.slices_needed_, leaders = solver_.leader_count();
  GreedyUse greedy;
  std::size_t next = 0;
  if (leaders > 0) {
    solver_.SortForLeader(&domains);
    for (; leaders > 0 && next < domains.size(); ++next) {
      const DomainCounts& counts = solver_.At(domains[next]);
      if (counts.leaders == 0) return greedy;
      ++greedy.used;
      greedy.last_led = domains[next];
      leaders -= counts.leaders;
      slices -= counts.slices_led;
    }
    if (leaders > 0) return greedy;
    domains.erase(domains.begin(), domains.begin() + static_cast<std::ptrdiff_t>(next));
  }
  solver_.SortForWorkers(&domains);
  for (const DomainIndex domain : domains) {
    const std::int64_t room = solver_.At(domain).slices;
    if (slices <= 0 || room == 0) break;
    ++greedy.used;
    greedy.last = domain;
    slices -= room;
  }
  greedy.fits = slices <= 0 && greedy.used > 0;
  return greedy;
}

// Steps 1 to 3 for one set of siblings.
void BalancedPlacement::Consider(const Domains& siblings, Candidate* best) {
  const TopologySpec& spec = solver_.task_->spec;
  const GreedyUse greedy =
      TakeGreedily(spec.level < spec.slice_level ? ChildrenOf(siblings) : siblings);
  if (!greedy.fits) return;
  std::int64_t threshold = solver_.slices_needed_ / greedy.used;
  if (greedy.last_led >= 0) threshold = std::min(threshold, solver_.At(greedy.last_led).slices_led);
  // The threshold if the last domain has to take the leader as well.
  std::int64_t beside_leader = threshold;
  if (greedy.last >= 0) {
    threshold = std::min(threshold, solver_.At(greedy.last).slices);
    beside_leader = threshold;
    if (solver_.leader_count() > 0)
      beside_leader = std::min(threshold, solver_.At(greedy.last).slices_led);
  }
  if (threshold < best->threshold) return;
  const Counts before = solver_.counts_;
  GreedyUse pruned;
  if (!Prune(siblings, threshold, &pruned)) {
    if (beside_leader >= threshold || beside_leader <= 0 || beside_leader < best->threshold) return;
    threshold = beside_leader;
    solver_.counts_ = before;
    if (!Prune(siblings, threshold, &pruned)) return;
  }
  if (threshold == best->threshold && pruned.used >= best->used) return;
  *best = {threshold, pruned.used, siblings, solver_.counts_};
}

// Drops domains that hold less than the threshold. True if the others still hold everything.
bool BalancedPlacement::Prune(const Domains& siblings, std::int64_t threshold, GreedyUse* greedy) {
  for (const DomainIndex domain : siblings) {
    const DomainRange children = solver_.tree_->Children(domain);
    for (DomainIndex child = children.begin; child < children.end; ++child)
      PruneDomain(child, threshold);
    Recount(domain);
    PruneDomain(domain, threshold);
  }
  *greedy = TakeGreedily(siblings);
  return greedy->fits;
}

// Clears the counts of a domain and of all below it, or only those for the leader.
void BalancedPlacement::PruneDomain(DomainIndex domain, std::int64_t threshold) {
  const DomainCounts& counts = solver_.At(domain);
  if (counts.slices < threshold) {
    ForEachBelow(domain, [](DomainCounts* below) { *below = {.preference = below->preference}; });
  } else if (counts.leaders > 0 && counts.slices_led < threshold) {
    // The domain still holds workers, but not beside the leader.
    ForEachBelow(domain, [](DomainCounts* below) {
      below->leaders = below->pods_led = below->slices_led = 0;
    });
  }
}

// Calls `change` for the counts of a domain and of all domains below it.
void BalancedPlacement::ForEachBelow(DomainIndex domain, void (*change)(DomainCounts*)) {
  const TopologyTree& tree = *solver_.tree_;
  for (std::int32_t level = tree.LevelOf(domain); level < tree.depth(); ++level) {
    const DomainRange range = tree.Below(domain, level);
    for (DomainIndex at = range.begin; at < range.end; ++at) change(&solver_.At(at));
  }
}

// Sums up again from the leaves to this domain.
void BalancedPlacement::Recount(DomainIndex domain) {
  const TopologyTree& tree = *solver_.tree_;
  for (std::int32_t level = tree.depth() - 2; level >= tree.LevelOf(domain); --level) {
    const DomainRange range = tree.Below(domain, level);
    for (DomainIndex at = range.begin; at < range.end; ++at) solver_.CountParent(at, level);
  }
}

BalancedPlacement::Domains BalancedPlacement::ChildrenOf(const Domains& domains) const {
  Domains children;
  for (const DomainIndex domain : domains) {
    const DomainRange range = solver_.tree_->Children(domain);
    for (DomainIndex child = range.begin; child < range.end; ++child) children.push_back(child);
  }
  return children;
}

// The fewest domains that hold everything and, of these, those with the least room left over.
// Dynamic programming over (number of domains, leaders left, pods left): the states are the
// remainders that can be reached with so many domains, each with the first way to reach it. The
// order of the domains, and so the way that is kept, follows Kueue.
bool BalancedPlacement::FewestThatFit(Domains domains, bool by_entropy, Domains* chosen) const {
  const GreedyUse greedy = TakeGreedily(domains);
  if (!greedy.fits) return false;
  std::sort(domains.begin(), domains.end(),
            [&](DomainIndex a, DomainIndex b) { return by_entropy ? HasMoreRoom(a, b) : a < b; });
  using Remainder = std::pair<std::int64_t, std::int64_t>;  // leaders and pods still to be placed
  std::vector<std::map<Remainder, Domains>> ways(static_cast<std::size_t>(greedy.used) + 1);
  const std::int64_t pods = solver_.slices_needed_ * solver_.task_->spec.slice_size;
  ways[0][{solver_.leader_count(), pods}] = {};
  for (const DomainIndex domain : domains) {
    const DomainCounts& counts = solver_.At(domain);
    for (std::size_t used = ways.size() - 1; used > 0; --used) {
      for (const auto& [left, way] : ways[used - 1]) {
        if (left.first <= 0 && left.second <= 0) continue;
        Domains longer = way;
        longer.push_back(domain);
        if (left.first > 0 && counts.leaders > 0)
          ways[used].try_emplace({left.first - counts.leaders, left.second - counts.pods_led},
                                 longer);
        if (counts.slices > 0)
          ways[used].try_emplace({left.first, left.second - counts.pods}, std::move(longer));
      }
    }
  }
  // Nothing is left to be placed, and as little room as possible is left over.
  const auto& complete = ways.back();
  auto at = complete.upper_bound({0, 0});
  if (at == complete.begin() || (--at)->first.first != 0) return false;
  *chosen = at->second;
  return true;
}

// Gives each domain the threshold, and the remainder to the first domains, as far as they have
// room.
bool BalancedPlacement::ShareOut(std::int64_t threshold, Domains* domains) {
  Domains few;
  if (!FewestThatFit(*domains, false, &few)) return false;
  const std::int64_t size = solver_.task_->spec.slice_size;
  std::int64_t extra = solver_.slices_needed_ - static_cast<std::int64_t>(few.size()) * threshold;
  std::int64_t leaders = solver_.leader_count();
  if (extra < 0) return false;
  solver_.SortForLeader(&few);
  for (const DomainIndex domain : few) {
    DomainCounts& counts = solver_.At(domain);
    std::int64_t more = 0;
    if (leaders > 0) {
      more = std::min(counts.slices_led - threshold, extra);
      counts.leaders = 1;
      --leaders;
    } else {
      if (extra > 0) more = std::min(counts.slices - threshold, extra);
      counts.leaders = 0;
    }
    counts.slices = counts.slices_led = threshold + more;
    counts.pods = counts.slices * size;
    counts.pods_led = counts.pods - counts.leaders;
    extra -= more;
  }
  *domains = std::move(few);
  return extra == 0 && leaders == 0;
}

// How evenly the room of a domain is spread over its children; used only to compare domains.
double BalancedPlacement::Entropy(DomainIndex domain) const {
  const DomainRange children = solver_.tree_->Children(domain);
  double total = 0;
  for (DomainIndex child = children.begin; child < children.end; ++child)
    total += static_cast<double>(solver_.At(child).pods);
  double entropy = 0;
  for (DomainIndex child = children.begin; child < children.end; ++child) {
    if (solver_.At(child).pods <= 0) continue;
    const double part = static_cast<double>(solver_.At(child).pods) / total;
    entropy -= part * std::log2(part);
  }
  return entropy;
}

bool BalancedPlacement::HasMoreRoom(DomainIndex a, DomainIndex b) const {
  const DomainCounts &one = solver_.At(a), &two = solver_.At(b);
  if (one.leaders != two.leaders) return one.leaders > two.leaders;
  if (one.slices_led != two.slices_led) return one.slices_led > two.slices_led;
  const double entropy_one = Entropy(a), entropy_two = Entropy(b);
  return entropy_one != entropy_two ? entropy_one > entropy_two : a < b;
}

}  // namespace muster::core
