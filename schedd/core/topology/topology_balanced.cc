#include "schedd/core/topology/topology_balanced.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace muster::core {

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

BalancedPlacement::Greedy BalancedPlacement::TakeGreedily(Domains domains) const {
  std::int64_t slices = solver_.slices_needed_, leaders = solver_.leader_count();
  Greedy greedy;
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

// The threshold is the most that the least used domain can get. Balanced over siblings if they are
// where slices lie, else over their children.
void BalancedPlacement::Consider(const Domains& siblings, Candidate* best) {
  const TopologySpec& spec = solver_.task_->spec;
  const Greedy greedy =
      TakeGreedily(spec.level < spec.slice_level ? ChildrenOf(siblings) : siblings);
  if (!greedy.fits) return;
  std::int64_t threshold = solver_.slices_needed_ / greedy.used;
  if (greedy.last_led >= 0) threshold = std::min(threshold, solver_.At(greedy.last_led).slices_led);
  std::int64_t beside_leader = threshold;  // if the last one has to take the leader as well
  if (greedy.last >= 0) {
    threshold = std::min(threshold, solver_.At(greedy.last).slices);
    beside_leader = threshold;
    if (solver_.leader_count() > 0)
      beside_leader = std::min(threshold, solver_.At(greedy.last).slices_led);
  }
  if (threshold < best->threshold) return;
  const Counts before = solver_.counts_;
  Greedy pruned;
  if (!Prune(siblings, threshold, &pruned)) {
    if (beside_leader >= threshold || beside_leader <= 0 || beside_leader < best->threshold) return;
    threshold = beside_leader;
    solver_.counts_ = before;
    if (!Prune(siblings, threshold, &pruned)) return;
  }
  if (threshold == best->threshold && pruned.used >= best->used) return;
  *best = {threshold, pruned.used, siblings, solver_.counts_};
}

// Drops domains that cannot get as much as the threshold. True if the others still hold everything.
bool BalancedPlacement::Prune(const Domains& siblings, std::int64_t threshold, Greedy* greedy) {
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

void BalancedPlacement::PruneDomain(DomainIndex domain, std::int64_t threshold) {
  const DomainCounts& counts = solver_.At(domain);
  if (counts.slices < threshold) {
    ForEachBelow(domain, [](DomainCounts* below) { *below = {.preference = below->preference}; });
  } else if (counts.leaders > 0 && counts.slices_led < threshold) {
    // Still good for workers, not for the leader.
    ForEachBelow(domain, [](DomainCounts* below) {
      below->leaders = below->pods_led = below->slices_led = 0;
    });
  }
}

void BalancedPlacement::ForEachBelow(DomainIndex domain, void (*change)(DomainCounts*)) {
  const TopologyTree& tree = *solver_.tree_;
  for (std::int32_t level = tree.LevelOf(domain); level < tree.depth(); ++level) {
    const DomainRange range = tree.Below(domain, level);
    for (DomainIndex at = range.begin; at < range.end; ++at) change(&solver_.At(at));
  }
}

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

// The fewest domains, and among as many those with the least room left over: dynamic programming
// over (domains used, leaders left, pods left).
bool BalancedPlacement::FewestThatFit(Domains domains, bool by_entropy, Domains* chosen) const {
  const Greedy greedy = TakeGreedily(domains);
  if (!greedy.fits) return false;
  std::sort(domains.begin(), domains.end(),
            [&](DomainIndex a, DomainIndex b) { return by_entropy ? HasMoreRoom(a, b) : a < b; });
  using Left = std::pair<std::int64_t, std::int64_t>;  // leaders, pods
  std::vector<std::map<Left, Domains>> ways(static_cast<std::size_t>(greedy.used) + 1);
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
  // Nothing left to place, and as close to it as can be.
  const auto& complete = ways.back();
  auto at = complete.upper_bound({0, 0});
  if (at == complete.begin() || (--at)->first.first != 0) return false;
  *chosen = at->second;
  return true;
}

// Every domain gets the threshold, the first ones what is left over, as far as they have room.
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

// Of how evenly a domain's room is spread over its children; compared, never summed up further.
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
