#include "tests/property/oracle/victims.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "tests/property/oracle/fair_victims.h"

namespace muster::oracle {

bool HasRoom(const Sums& sums, int queue, const Wish& wish) {
  return std::all_of(wish.pairs.begin(), wish.pairs.end(), [&](int pair) {
    return wish.amounts[static_cast<std::size_t>(pair)] <= sums.Available(queue, pair);
  });
}

bool MayEvict(const World& world, const Wish& wish, EvictPolicy policy, const HeldQuota& held) {
  if (held.workload < 0 || held.out) return false;
  const bool contested = std::any_of(wish.contested.begin(), wish.contested.end(),
                                     [&](int pair) { return held.pairs.count(pair) > 0; });
  if (!contested) return false;
  const Workload& preemptor = world.workloads[static_cast<std::size_t>(wish.workload)];
  const Workload& candidate = world.workloads[static_cast<std::size_t>(held.workload)];
  const bool lower = candidate.priority < preemptor.priority;
  switch (policy) {
    case EvictPolicy::kNever:
      return false;
    case EvictPolicy::kLower:
      return lower;
    case EvictPolicy::kLowerOrNewer:
      return lower ||
             (candidate.priority == preemptor.priority && preemptor.created < candidate.created);
    case EvictPolicy::kAny:
      return true;
  }
  return false;
}

bool BetterVictim(const World& world, int own_queue, int a, int b) {
  const Workload& left = world.workloads[static_cast<std::size_t>(a)];
  const Workload& right = world.workloads[static_cast<std::size_t>(b)];
  const auto key = [&](const Workload& of, int index) {
    return std::make_tuple(!of.evicting, of.queue == own_queue, of.priority,
                           -of.holding->reserved_at, index);
  };
  return key(left, a) < key(right, b);
}

std::vector<std::size_t> FillBack(std::vector<std::size_t> removed, Ledger* ledger,
                                  const std::function<bool()>& fits) {
  for (std::size_t i = removed.size() - 1; i-- > 0;) {
    (*ledger)[removed[i]].out = false;
    if (fits()) {
      removed[i] = removed.back();
      removed.pop_back();
    } else {
      (*ledger)[removed[i]].out = true;
    }
  }
  return removed;
}

namespace {

enum class Variant { kHierarchical, kWithoutBorrowing, kWhileBorrowing, kOwn };

struct Candidate {
  std::size_t item = 0;  // in the ledger
  Variant variant = Variant::kOwn;
  int meeting = -1;  // the closest cohort above both queues; -1: own queue
};

class ClassicalSearch {
 public:
  ClassicalSearch(const World& world, const Wish& wish, Ledger* ledger)
      : world_(world),
        wish_(wish),
        ledger_(*ledger),
        sums_(world, *ledger),
        own_(world.workloads[static_cast<std::size_t>(wish.workload)].queue),
        queue_(world.queues[static_cast<std::size_t>(own_)]) {}

  std::vector<Victim> Run() {
    CollectOwn();
    if (sums_.Parent(own_) >= 0 && queue_.reclaim != EvictPolicy::kNever) CollectOthers();
    Sort();
    const auto any = [&](auto test) {
      return std::any_of(candidates_.begin(), candidates_.end(), test);
    };
    const bool others = any([](const Candidate& c) { return c.variant != Variant::kOwn; });
    const bool hierarchical =
        any([](const Candidate& c) { return c.variant == Variant::kHierarchical; });
    const bool forbidden = !queue_.borrow_while_preempting;
    std::vector<bool> attempts = {true, false};
    if (!others || (forbidden && !UnderNominal())) {
      attempts = {true};
    } else if (forbidden && !hierarchical) {
      attempts = {false, true};
    }
    for (const bool borrowing : attempts) {
      const auto victims = Walk(borrowing);
      if (!victims.empty()) return victims;
    }
    return {};
  }

 private:
  bool UnderNominal() const {
    return std::all_of(wish_.contested.begin(), wish_.contested.end(), [&](int pair) {
      return sums_.Used(own_, pair) < sums_.Subtree(own_, pair);
    });
  }

  void CollectOwn() {
    for (std::size_t i = 0; i < ledger_.size(); ++i) {
      if (ledger_[i].queue == own_ && MayEvict(world_, wish_, queue_.within, ledger_[i])) {
        candidates_.push_back({i, Variant::kOwn, -1});
      }
    }
  }

  void CollectOthers() {
    bool advantage = true;
    std::map<int, Amount> rest;
    for (const int pair : wish_.pairs) {
      const Amount amount = wish_.amounts[static_cast<std::size_t>(pair)];
      advantage = advantage && !sums_.BorrowsWith(own_, pair, amount);
      rest[pair] = amount - sums_.LocalAvailable(own_, pair);
    }
    int visited = own_;
    for (int at = sums_.Parent(own_); at >= 0; at = sums_.Parent(at)) {
      CollectBelow(at, at, visited, advantage);
      const bool fits = std::none_of(rest.begin(), rest.end(), [&](const auto& entry) {
        return sums_.BorrowsWith(at, entry.first, entry.second);
      });
      advantage = advantage || fits;
      for (auto& [pair, amount] : rest) amount -= sums_.LocalAvailable(at, pair);
      visited = at;
    }
  }

  void CollectBelow(int node, int meeting, int skip, bool advantage) {
    for (const int child : sums_.Children(node)) {
      if (child == skip || sums_.WithinNominal(child, wish_.contested)) continue;
      if (!sums_.IsQueue(child)) {
        CollectBelow(child, meeting, -1, advantage);
        continue;
      }
      for (std::size_t i = 0; i < ledger_.size(); ++i) {
        if (ledger_[i].queue != child) continue;
        if (!MayEvict(world_, wish_, queue_.reclaim, ledger_[i])) continue;
        candidates_.push_back({i, VariantOf(ledger_[i], advantage), meeting});
      }
    }
  }

  Variant VariantOf(const HeldQuota& held, bool advantage) const {
    if (advantage) return Variant::kHierarchical;
    const int priority = world_.workloads[static_cast<std::size_t>(held.workload)].priority;
    const int own = world_.workloads[static_cast<std::size_t>(wish_.workload)].priority;
    const bool spared = !queue_.borrow_while_preempting || priority >= own ||
                        (queue_.threshold && priority > *queue_.threshold);
    return spared ? Variant::kWithoutBorrowing : Variant::kWhileBorrowing;
  }

  // Evicted first, then hierarchical, other queues', own; inside each the order of victims.
  void Sort() {
    const auto rank = [](Variant variant) {
      return variant == Variant::kHierarchical ? 0 : variant == Variant::kOwn ? 2 : 1;
    };
    std::sort(candidates_.begin(), candidates_.end(), [&](const auto& a, const auto& b) {
      const int left = ledger_[a.item].workload;
      const int right = ledger_[b.item].workload;
      const bool left_out = world_.workloads[static_cast<std::size_t>(left)].evicting;
      const bool right_out = world_.workloads[static_cast<std::size_t>(right)].evicting;
      if (left_out != right_out) return left_out;
      if (rank(a.variant) != rank(b.variant)) return rank(a.variant) < rank(b.variant);
      return BetterVictim(world_, own_, left, right);
    });
  }

  bool StillCounts(const Candidate& candidate, bool borrowing) const {
    if (candidate.variant == Variant::kOwn) return true;
    if (candidate.variant == Variant::kWithoutBorrowing && borrowing) return false;
    for (int at = ledger_[candidate.item].queue; at != candidate.meeting; at = sums_.Parent(at)) {
      if (sums_.WithinNominal(at, wish_.contested)) return false;
    }
    return true;
  }

  std::vector<Victim> Walk(bool borrowing) {
    const auto fits = [&] {
      for (const int pair : wish_.pairs) {
        const Amount amount = wish_.amounts[static_cast<std::size_t>(pair)];
        if (!borrowing && sums_.BorrowsWith(own_, pair, amount)) return false;
      }
      return HasRoom(sums_, own_, wish_);
    };
    std::vector<std::size_t> removed;
    bool found = false;
    for (const Candidate& candidate : candidates_) {
      if (!StillCounts(candidate, borrowing)) continue;
      ledger_[candidate.item].out = true;
      removed.push_back(candidate.item);
      if (fits()) {
        found = true;
        break;
      }
    }
    const auto taken_off = removed;
    std::vector<Victim> victims;
    if (found) {
      for (const std::size_t item : FillBack(removed, &ledger_, fits)) {
        victims.push_back({ledger_[item].workload, CauseOf(item)});
      }
    }
    for (const std::size_t item : taken_off) ledger_[item].out = false;
    return victims;
  }

  Cause CauseOf(std::size_t item) const {
    const auto at = std::find_if(candidates_.begin(), candidates_.end(),
                                 [&](const Candidate& c) { return c.item == item; });
    if (at->variant == Variant::kOwn) return Cause::kOwnQueue;
    return at->variant == Variant::kWhileBorrowing ? Cause::kReclaimWhileBorrowing
                                                   : Cause::kReclamation;
  }

  const World& world_;
  const Wish& wish_;
  Ledger& ledger_;
  Sums sums_;
  int own_;
  const Queue& queue_;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::vector<Victim> FindVictims(const World& world, const Wish& wish, Ledger* ledger) {
  if (world.settings.fair) return FindFairVictims(world, wish, ledger);
  return ClassicalSearch(world, wish, ledger).Run();
}

}  // namespace muster::oracle
