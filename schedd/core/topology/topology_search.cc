// TopologySolver, phase 2 (rule A45): the level and the domains that hold everything, then down to
// the leaves.
//
// FindLevel: best fit, the domain with the least room that holds all, on the searched level. If
// none does: required fails; preferred goes a level up; at the top, and for unconstrained requests,
// several domains are taken in order until all is placed (SpreadOver), the last one by best fit.
//
// Descend: each chosen domain's share is divided among its children in the same way (TakeLeast).
// Above the slice level the children of all chosen domains are one pool, because a slice only has
// to be inside one domain of the slice level; from there on each domain divides its share among its
// own children.
//
// A leader is placed together with its workers. Its domain is chosen first, and counts "beside a
// leader" (pods_led, slices_led) apply to it.
#include <algorithm>

#include "schedd/core/topology/topology_solver.h"

namespace muster::core {

// The order in which domains are taken. Best fit takes those with the most room first, so that few
// are used, and among equals those that leave the fewest pods over. Least free capacity takes the
// fullest first. Machines with preferred affinity come before (gate
// TASRespectNodeAffinityPreferred).
bool TopologySolver::ComesBefore(DomainIndex a, DomainIndex b, bool for_leader) const {
  const DomainCounts &one = At(a), &two = At(b);
  if (for_leader && one.leaders != two.leaders) return one.leaders > two.leaders;
  if (task_->respect_preferred && one.preference != two.preference)
    return one.preference > two.preference;
  const auto slices = for_leader ? &DomainCounts::slices_led : &DomainCounts::slices;
  if (one.*slices != two.*slices)
    return task_->spec.least_free ? one.*slices < two.*slices : one.*slices > two.*slices;
  const auto pods = for_leader ? &DomainCounts::pods_led : &DomainCounts::pods;
  if (one.*pods != two.*pods) return one.*pods < two.*pods;
  return a < b;
}

void TopologySolver::SortForWorkers(Domains* domains) const {
  std::sort(domains->begin(), domains->end(),
            [&](DomainIndex a, DomainIndex b) { return ComesBefore(a, b, false); });
}

void TopologySolver::SortForLeader(Domains* domains) const {
  std::sort(domains->begin(), domains->end(),
            [&](DomainIndex a, DomainIndex b) { return ComesBefore(a, b, true); });
}

// The first domain, from position `from` on, with the least room that is enough, among those of
// equal preference; `from` itself if there is none.
std::size_t TopologySolver::BestFit(const Domains& domains, std::size_t from, std::int64_t needed,
                                    std::int64_t leaders, Unit unit) const {
  const auto room = leaders > 0 ? unit.led : unit.alone;
  std::size_t best = from;
  bool found = false;
  for (std::size_t i = from; i < domains.size(); ++i) {
    const DomainCounts& counts = At(domains[i]);
    if (task_->respect_preferred && counts.preference != At(domains[from]).preference) break;
    if (counts.leaders < leaders || counts.*room < needed) continue;
    if (found && counts.*room >= At(domains[best]).*room) continue;
    best = i;
    found = true;
  }
  return best;
}

// Moves to the front the first domain that can take the leader and leaves enough room for the
// workers in all domains together. Phase 1 counted with the domain that loses least.
void TopologySolver::PreferLeaderDomain(Domains* domains, std::int64_t needed, Unit unit) const {
  std::int64_t room = 0;
  for (const DomainIndex domain : *domains) room += At(domain).*unit.alone;
  for (auto at = domains->begin(); at != domains->end(); ++at) {
    const DomainCounts& counts = At(*at);
    if (counts.leaders < leader_count()) continue;
    if (room - (counts.*unit.alone - counts.*unit.led) < needed) continue;
    std::rotate(domains->begin(), at, at + 1);
    return;
  }
}

// Notes why the search failed; always false.
bool TopologySolver::Refuse(SolverRefusal::Kind kind, std::int32_t level, std::int64_t fitting) {
  refusal_ = {kind, level, fitting};
  return false;
}

bool TopologySolver::FindLevel(std::int32_t* level, Domains* found) {
  found->clear();
  for (*level = task_->spec.level;; --*level) {
    const DomainRange range = tree_->Level(*level);
    if (range.begin == range.end) return Refuse(SolverRefusal::Kind::kNoDomains, *level, 0);
    const DomainIndex one = HoldingAll(range);
    if (one >= 0) {
      found->push_back(one);
      return true;
    }
    if (task_->spec.required)
      return Refuse(SolverRefusal::Kind::kTooSmall, *level, At(FirstOf(range)).slices);
    if (*level == 0 || task_->spec.unconstrained) return SpreadOver(*level, found);
  }
}

// The first domain in the order for leaders; that of the failure message.
DomainIndex TopologySolver::FirstOf(DomainRange range) const {
  DomainIndex first = range.begin;
  for (DomainIndex domain = range.begin; domain < range.end; ++domain) {
    if (ComesBefore(domain, first, true)) first = domain;
  }
  return first;
}

// The domain with the least room that holds everything, of those with the highest preference; -1 if
// there is none. Both orders would choose it, so no sorting is needed.
DomainIndex TopologySolver::HoldingAll(DomainRange range) const {
  const std::int64_t leaders = leader_count();
  const auto holds_all = [&](const DomainCounts& counts) {
    return counts.slices_led >= slices_needed_ && counts.leaders >= leaders;
  };
  const auto tighter = [&](const DomainCounts& one, const DomainCounts& two) {
    if (task_->respect_preferred && one.preference != two.preference)
      return one.preference > two.preference;
    if (one.slices_led != two.slices_led) return one.slices_led < two.slices_led;
    return one.pods_led < two.pods_led;
  };
  DomainIndex best = -1;
  for (DomainIndex domain = range.begin; domain < range.end; ++domain) {
    if (holds_all(At(domain)) && (best < 0 || tighter(At(domain), At(best)))) best = domain;
  }
  // A preferred level gives way to preferred machines: a level above may have enough of them.
  const bool insists = task_->spec.required || task_->spec.least_free;
  if (best >= 0 && task_->respect_preferred && !insists && !holds_all(At(FirstOf(range))))
    return -1;
  return best;
}

// Several domains of one level: first one for the leader, then workers by most room.
bool TopologySolver::SpreadOver(std::int32_t level, Domains* found) {
  const DomainRange range = tree_->Level(level);
  pool_.clear();
  for (DomainIndex domain = range.begin; domain < range.end; ++domain) pool_.push_back(domain);
  std::int64_t slices = slices_needed_, leaders = leader_count();
  std::size_t next = 0;
  if (leaders > 0) {
    SortForLeader(&pool_);
    PreferLeaderDomain(&pool_, slices_needed_, kSliceUnit);
  }
  for (; leaders > 0 && next < pool_.size() && At(pool_[next]).leaders > 0; ++next) {
    std::size_t chosen = next;
    if (!task_->spec.least_free && At(pool_[next]).slices_led >= slices)
      chosen = BestFit(pool_, next, slices, leaders, kSliceUnit);
    const DomainCounts& counts = At(pool_[chosen]);
    found->push_back(pool_[chosen]);
    leaders -= counts.leaders;
    slices -= counts.slices_led;
  }
  if (leaders > 0) return Refuse(SolverRefusal::Kind::kTooSmall, level, leader_count() - leaders);
  pool_.erase(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(next));
  std::erase_if(pool_, [&](DomainIndex domain) { return At(domain).slices == 0; });
  SortForWorkers(&pool_);
  for (std::size_t i = 0; slices > 0 && i < pool_.size(); ++i) {
    std::size_t chosen = i;
    if (!task_->spec.least_free && At(pool_[i]).slices >= slices)
      chosen = BestFit(pool_, i, slices, 0, kSliceUnit);
    found->push_back(pool_[chosen]);
    slices -= At(pool_[chosen]).slices;
  }
  if (slices > 0) return Refuse(SolverRefusal::Kind::kTooSmall, level, slices_needed_ - slices);
  return true;
}

// Takes from the domains in order as much as is needed and writes it into their counts; the last
// one is the best fit among those left. False if they do not hold everything. `size`: pods per
// unit.
bool TopologySolver::TakeLeast(Domains* domains, std::int64_t count, std::int64_t leaders,
                               std::int64_t size, Unit unit, Domains* taken) {
  std::int64_t left = count / size;
  if (leaders > 0) PreferLeaderDomain(domains, left, unit);
  for (std::size_t i = 0; i < domains->size(); ++i) {
    const bool led = leaders > 0;
    const auto room = led ? unit.led : unit.alone;
    const auto suffices = [&](const DomainCounts& counts) {
      return counts.*room >= left && (!led || counts.leaders >= leaders);
    };
    std::size_t chosen = i;
    if (!task_->spec.least_free && suffices(At((*domains)[i])))
      chosen = BestFit(*domains, i, left, leaders, unit);
    DomainCounts& counts = At((*domains)[chosen]);
    const bool last = suffices(counts);
    const std::int64_t take = std::min(counts.*room, left);
    counts.leaders = led ? std::min(counts.leaders, leaders) : 0;
    counts.*unit.alone = take;
    counts.pods = take * size;
    taken->push_back((*domains)[chosen]);
    if (last) return true;
    left -= take;
    leaders -= counts.leaders;
  }
  return false;
}

// Divides the share of one domain among its children, in slices of `size` pods.
bool TopologySolver::DescendBelow(DomainIndex parent, std::int64_t size, Domains* taken) {
  const DomainRange children = tree_->Children(parent);
  pool_.clear();
  for (DomainIndex child = children.begin; child < children.end; ++child) pool_.push_back(child);
  SortForWorkers(&pool_);
  if (size > 1) {
    // Phase 1 counted slices of the outermost layer.
    for (const DomainIndex child : pool_) {
      At(child).slices = At(child).pods / size;
      At(child).slices_led = At(child).pods_led / size;
    }
  }
  return TakeLeast(&pool_, At(parent).pods, At(parent).leaders, size,
                   size > 1 ? kSliceUnit : kPodUnit, taken);
}

// From the chosen domains down to the leaves. Shares of a balanced placement are fixed already.
bool TopologySolver::Descend(std::int32_t level, bool balanced, Domains* chosen) {
  const TopologySpec& spec = task_->spec;
  const std::int32_t lowest = tree_->depth() - 1;
  const auto take = [&](Domains* domains) {
    taken_.clear();
    const bool all =
        TakeLeast(domains, task_->count, leader_count(), spec.slice_size, kSliceUnit, &taken_);
    std::swap(*chosen, taken_);
    return all || Refuse(SolverRefusal::Kind::kTooSmall, level, 0);
  };
  if (!take(chosen)) return false;
  for (; level < std::min(lowest, spec.slice_level) && !balanced; ++level) {
    pool_.clear();
    for (const DomainIndex domain : *chosen) {
      const DomainRange children = tree_->Children(domain);
      for (DomainIndex child = children.begin; child < children.end; ++child)
        pool_.push_back(child);
    }
    SortForWorkers(&pool_);
    if (!take(&pool_)) return false;
  }
  for (; level < lowest; ++level) {
    const std::int64_t inner = spec.inner_size[static_cast<std::size_t>(level) + 1];
    const std::int64_t size =
        level < spec.slice_level ? spec.slice_size : std::max<std::int64_t>(inner, 1);
    taken_.clear();
    for (const DomainIndex domain : *chosen) {
      if (!DescendBelow(domain, size, &taken_))
        return Refuse(SolverRefusal::Kind::kTooSmall, level, 0);
    }
    std::swap(*chosen, taken_);
  }
  Collect(chosen);
  return true;
}

// The result, by leaf.
void TopologySolver::Collect(Domains* leaves) {
  std::sort(leaves->begin(), leaves->end());
  workers_.clear();
  leaders_.clear();
  for (const DomainIndex domain : *leaves) {
    const DomainCounts& counts = At(domain);
    const LeafIndex leaf = tree_->LeafOf(domain);
    if (counts.pods > 0) workers_.push_back({leaf, static_cast<std::int32_t>(counts.pods)});
    if (counts.leaders > 0) leaders_.push_back({leaf, static_cast<std::int32_t>(counts.leaders)});
  }
}

}  // namespace muster::core
