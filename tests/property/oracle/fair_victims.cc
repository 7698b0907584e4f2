#include "tests/property/oracle/fair_victims.h"

#include <algorithm>
#include <deque>

namespace muster::oracle {
namespace {

using Pools = std::map<int, std::deque<std::size_t>>;  // queue -> ledger items, best first

// Yields the queue to take from next, until nothing is left.
class Tournament {
 public:
  Tournament(const World& world, const Sums& sums, const Ledger& ledger, int own, Pools* pools)
      : world_(world), sums_(sums), ledger_(ledger), own_(own), pools_(*pools) {}

  int Next() {
    if (sums_.Parent(own_) < 0) return Left(own_) ? own_ : -1;
    const int root = sums_.Root(own_);
    while (!dropped_.count(root)) {
      const int queue = Below(root);
      if (queue >= 0) return queue;
    }
    return -1;
  }

  void Drop(int queue) { dropped_.insert(queue); }

 private:
  bool Left(int queue) const {
    const auto it = pools_.find(queue);
    return it != pools_.end() && !it->second.empty() && !dropped_.count(queue);
  }

  bool OnPath(int cohort) const {
    for (int at = own_; at >= 0; at = sums_.Parent(at)) {
      if (at == cohort) return true;
    }
    return false;
  }

  bool FirstIsBetter(int a, int b) const {
    return BetterVictim(world_, own_, ledger_[pools_[a].front()].workload,
                        ledger_[pools_[b].front()].workload);
  }

  // Of child cohorts with equal shares the last by name, of queues the one with the better victim.
  int Below(int cohort) {
    int queue = -1;
    int child_cohort = -1;
    Share queue_share;
    Share cohort_share;
    for (const int child : sums_.Children(cohort)) {
      if (dropped_.count(child)) continue;
      const bool keep =
          sums_.Borrows(child) || (sums_.IsQueue(child) ? child == own_ : OnPath(child));
      if (!keep || (sums_.IsQueue(child) && !Left(child))) {
        dropped_.insert(child);
        continue;
      }
      const Share share = sums_.DominantShare(child);
      if (sums_.IsQueue(child)) {
        if (queue < 0 || queue_share < share ||
            (queue_share == share && FirstIsBetter(child, queue))) {
          queue = child;
          queue_share = share;
        }
      } else if (child_cohort < 0 || !(share < cohort_share)) {
        child_cohort = child;
        cohort_share = share;
      }
    }
    if (child_cohort >= 0 && (queue < 0 || !(cohort_share < queue_share))) {
      return Below(child_cohort);
    }
    if (queue < 0) dropped_.insert(cohort);
    return queue;
  }

  const World& world_;
  const Sums& sums_;
  const Ledger& ledger_;
  int own_;
  Pools& pools_;
  std::set<int> dropped_;
};

class FairSearch {
 public:
  FairSearch(const World& world, const Wish& wish, Ledger* ledger)
      : world_(world),
        wish_(wish),
        ledger_(*ledger),
        sums_(world, *ledger),
        own_(world.workloads[static_cast<std::size_t>(wish.workload)].queue) {}

  std::vector<Victim> Run() {
    Pools pools = Collect();
    incoming_ = ledger_.size();
    ledger_.push_back({own_, -1, wish_.amounts, false});
    Pools retry;
    bool found = First(&pools, &retry);
    if (!found && world_.settings.strategies.size() == 2) found = Second(&retry);
    const auto taken_off = removed_;
    std::vector<Victim> victims;
    if (found) {
      for (const std::size_t item : FillBack(removed_, &ledger_, [&] { return Fits(); })) {
        victims.push_back({ledger_[item].workload, causes_.at(item)});
      }
    }
    for (const std::size_t item : taken_off) ledger_[item].out = false;
    ledger_.pop_back();
    return victims;
  }

 private:
  Pools Collect() const {
    const Queue& queue = world_.queues[static_cast<std::size_t>(own_)];
    Pools pools;
    for (std::size_t i = 0; i < ledger_.size(); ++i) {
      const int of = ledger_[i].queue;
      if (of != own_ &&
          (sums_.Root(of) != sums_.Root(own_) || sums_.WithinNominal(of, wish_.contested))) {
        continue;
      }
      if (MayEvict(world_, wish_, of == own_ ? queue.within : queue.reclaim, ledger_[i])) {
        pools[of].push_back(i);
      }
    }
    for (auto& [of, items] : pools) {
      std::sort(items.begin(), items.end(), [&](std::size_t a, std::size_t b) {
        return BetterVictim(world_, own_, ledger_[a].workload, ledger_[b].workload);
      });
    }
    return pools;
  }

  // The room is what there is without the preemptor's own usage.
  bool Fits() {
    ledger_[incoming_].out = true;
    const bool fits = HasRoom(sums_, own_, wish_);
    ledger_[incoming_].out = false;
    return fits;
  }

  bool Take(std::size_t item, Cause cause) {
    ledger_[item].out = true;
    removed_.push_back(item);
    causes_[item] = cause;
    return Fits();
  }

  std::vector<int> Path(int node) const {
    std::vector<int> path;
    for (int at = node; at >= 0; at = sums_.Parent(at)) path.push_back(at);
    return path;
  }

  // The children of the lowest common ancestor: on the preemptor's side and on the target's.
  std::pair<int, int> Sides(int target) const {
    const auto mine = Path(own_);
    const auto other = Path(target);
    std::size_t common = 0;
    while (common < mine.size() && common < other.size() &&
           mine[mine.size() - 1 - common] == other[other.size() - 1 - common]) {
      ++common;
    }
    return {mine[mine.size() - 1 - common], other[other.size() - 1 - common]};
  }

  Share Without(std::size_t item, int node) {
    ledger_[item].out = true;
    const Share share = sums_.DominantShare(node);
    ledger_[item].out = false;
    return share;
  }

  bool First(Pools* pools, Pools* retry) {
    Tournament tournament(world_, sums_, ledger_, own_, pools);
    // As it stands with the incoming usage, before anything is taken off.
    const bool entitled =
        world_.settings.preempt_within_nominal && sums_.WithinNominal(own_, wish_.contested);
    bool found = false;
    for (int queue = tournament.Next(); queue >= 0; queue = tournament.Next()) {
      auto& items = (*pools)[queue];
      if (queue == own_) {
        const std::size_t item = items.front();
        items.pop_front();
        found = Take(item, Cause::kOwnQueue);
      } else if (entitled) {
        const std::size_t item = items.front();
        items.pop_front();
        found = Take(item, Cause::kReclamation);
      } else {
        found = Compare(queue, &items, &(*retry)[queue]);
      }
      if (found) break;
    }
    return found;
  }

  bool Compare(int queue, std::deque<std::size_t>* items, std::deque<std::size_t>* retry) {
    const auto [mine, other] = Sides(queue);
    const Share ours = sums_.DominantShare(mine);
    const Share theirs = sums_.DominantShare(other);
    const bool hopeless = ours.infinite && !theirs.infinite;
    while (!items->empty()) {
      const std::size_t item = items->front();
      items->pop_front();
      const bool passes = !hopeless && (world_.settings.strategies.front() == Strategy::kFinalShare
                                            ? !(Without(item, other) < ours)
                                            : ours < theirs);
      if (passes) return Take(item, Cause::kFairSharing);
      retry->push_back(item);
    }
    return false;
  }

  bool Second(Pools* retry) {
    Tournament tournament(world_, sums_, ledger_, own_, retry);
    bool found = false;
    for (int queue = tournament.Next(); queue >= 0; queue = tournament.Next()) {
      const auto [mine, other] = Sides(queue);
      if (sums_.DominantShare(mine) < sums_.DominantShare(other)) {
        found = Take((*retry)[queue].front(), Cause::kFairSharing);
      }
      if (found) break;
      tournament.Drop(queue);
    }
    return found;
  }

  const World& world_;
  const Wish& wish_;
  Ledger& ledger_;
  Sums sums_;
  int own_;
  std::size_t incoming_ = 0;
  std::vector<std::size_t> removed_;
  std::map<std::size_t, Cause> causes_;
};

}  // namespace

std::vector<Victim> FindFairVictims(const World& world, const Wish& wish, Ledger* ledger) {
  return FairSearch(world, wish, ledger).Run();
}

}  // namespace muster::oracle
