#include "tests/property/oracle/flavors.h"

#include <algorithm>

namespace muster::oracle {

bool Better(const Grade& a, const Grade& b, bool preempt_before_borrow) {
  for (const Mode worst : {Mode::kNoFit, Mode::kNoCandidates}) {
    if (a.mode == worst && b.mode != worst) return false;
    if (b.mode == worst && a.mode != worst) return true;
    if (a.mode == worst && worst == Mode::kNoFit) return false;
  }
  if (preempt_before_borrow && a.level != b.level) return a.level < b.level;
  if (a.mode != b.mode) return a.mode > b.mode;
  return a.level < b.level;
}

Holding Assignment::ToHolding(int now) const {
  Holding holding{counts, {}, now};
  for (const auto& of : choices) {
    auto& flavors = holding.flavors.emplace_back();
    for (const auto& [resource, choice] : of) flavors[resource] = choice.flavor;
  }
  return holding;
}

std::vector<std::map<int, int>> Assignment::Tried() const {
  std::vector<std::map<int, int>> tried;
  for (const auto& of : choices) {
    auto& indices = tried.emplace_back();
    for (const auto& [resource, choice] : of) indices[resource] = choice.tried;
  }
  return tried;
}

namespace {

std::uint64_t Fnv1a(const std::string& name) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

class Search {
 public:
  Search(const World& world, int workload, const Mapping* only, Ledger* ledger)
      : world_(world),
        index_(workload),
        of_(world.workloads[static_cast<std::size_t>(workload)]),
        queue_(world.queues[static_cast<std::size_t>(of_.queue)]),
        only_(only),
        ledger_(ledger),
        sums_(world, *ledger) {}

  Assignment Run() {
    std::vector<int> counts;
    for (const Pods& pods : of_.pods) counts.push_back(pods.count);
    Assignment full = Try(counts);
    if (Works(full) || !world_.settings.partial_admission) return full;
    int most = 0;
    for (const Pods& pods : of_.pods) most += pods.count - pods.min_count.value_or(pods.count);
    return most > 0 ? Shrink(full, most) : full;
  }

 private:
  static bool Works(const Assignment& of) {
    return of.fitness == Fitness::kFit || (of.fitness == Fitness::kPreempt && !of.victims.empty());
  }

  Assignment Shrink(const Assignment& full, int most) {
    int low = 0;
    int high = most + 1;
    std::optional<Assignment> good;
    int good_at = -1;
    while (low < high) {
      const int at = (low + high) / 2;
      std::vector<int> counts;
      for (const Pods& pods : of_.pods) {
        const int spare = pods.count - pods.min_count.value_or(pods.count);
        counts.push_back(pods.count - spare * at / most);
      }
      Assignment tried = Try(counts);
      if (Works(tried)) {
        good = std::move(tried);
        good_at = at;
        high = at;
      } else {
        low = at + 1;
      }
    }
    return good && good_at == low ? *good : full;
  }

  // All pod sets with these counts, then victims.
  Assignment Try(const std::vector<int>& counts) {
    Assignment result;
    result.counts = counts;
    result.wish.workload = index_;
    result.wish.amounts.assign(static_cast<std::size_t>(world_.Pairs()), 0);
    std::set<int> pairs;
    std::set<int> contested;
    for (std::size_t i = 0; i < of_.pods.size(); ++i) {
      auto& choices = result.choices.emplace_back();
      if (!AssignPods(i, counts[i], result.wish.amounts, &choices, &result.why)) {
        result.fitness = Fitness::kNoFit;
        choices.clear();
        break;
      }
      for (const auto& [resource, choice] : choices) {
        const int pair = world_.Pair(choice.flavor, resource);
        const Amount amount = Total(i, resource, counts[i]);
        result.wish.amounts[static_cast<std::size_t>(pair)] += amount;
        if (amount > 0) pairs.insert(pair);
        if (choice.grade.mode != Mode::kFit) contested.insert(pair);
        result.level = std::max(result.level, choice.grade.level);
      }
    }
    result.wish.pairs.assign(pairs.begin(), pairs.end());
    result.wish.contested.assign(contested.begin(), contested.end());
    if (result.fitness == Fitness::kFit && !contested.empty()) {
      result.fitness = Fitness::kPreempt;
      result.victims = FindVictims(world_, result.wish, ledger_);
    }
    return result;
  }

  Amount Total(std::size_t pods, int resource, int count) const {
    return of_.pods[pods].requests.at(resource) * count;
  }

  // Resources by the hash of their names.
  std::vector<int> InOrder(const std::map<int, Amount>& requests) const {
    std::map<std::uint64_t, int> sorted;
    for (const auto& [resource, amount] : requests) {
      sorted[Fnv1a(world_.resources[static_cast<std::size_t>(resource)])] = resource;
    }
    std::vector<int> order;
    for (const auto& [hash, resource] : sorted) order.push_back(resource);
    return order;
  }

  // False if a resource gets no flavor: the resources after it are not tried, and `why` says why.
  bool AssignPods(std::size_t at, int count, const std::vector<Amount>& assumed,
                  std::map<int, Choice>* choices, WaitReason* why) {
    for (const int resource : InOrder(of_.pods[at].requests)) {
      if (choices->count(resource)) continue;
      const auto group =
          std::find_if(queue_.groups.begin(), queue_.groups.end(), [&](const Group& g) {
            return std::count(g.resources.begin(), g.resources.end(), resource) > 0;
          });
      if (group == queue_.groups.end()) {
        if (Total(at, resource, count) == 0) continue;
        *why = WaitReason::kNoMatchingFlavor;
        return false;
      }
      if (!ScanGroup(*group, at, count, assumed, choices, why)) return false;
    }
    return true;
  }

  bool ScanGroup(const Group& group, std::size_t at, int count, const std::vector<Amount>& assumed,
                 std::map<int, Choice>* choices, WaitReason* why) {
    std::vector<int> resources;
    for (const int resource : group.resources) {
      if (of_.pods[at].requests.count(resource)) resources.push_back(resource);
    }
    std::map<int, Choice> best;
    Grade best_grade{Mode::kNoFit, 0};
    std::optional<WaitReason> mildest;
    int last = -1;
    for (int i = Start(at, resources.front()); i < static_cast<int>(group.flavors.size()); ++i) {
      last = i;
      const int flavor = group.flavors[static_cast<std::size_t>(i)];
      WaitReason reason = WaitReason::kNoMatchingFlavor;
      if (CanHost(at, flavor) && InNomination(at, resources, flavor)) {
        reason = WaitReason::kNone;
        std::map<int, Choice> tried;
        Grade grade{Mode::kFit, 0};
        for (const int resource : resources) {
          const int pair = world_.Pair(flavor, resource);
          const Amount amount =
              assumed[static_cast<std::size_t>(pair)] + Total(at, resource, count);
          WaitReason one = WaitReason::kNone;
          const Grade of = GradeOf(pair, amount, &one);
          reason = std::max(reason, one);
          if (Better(grade, of, queue_.preempt_before_borrow)) grade = of;
          tried[resource] = {flavor, of, -1};
        }
        if (Better(grade, best_grade, queue_.preempt_before_borrow)) {
          best = tried;
          best_grade = grade;
        }
        if (StopsAt(grade)) {
          best = tried;
          best_grade = grade;
          break;
        }
      }
      mildest = mildest ? std::min(*mildest, reason) : reason;
    }
    if (last == static_cast<int>(group.flavors.size()) - 1) last = -1;
    if (best_grade.mode == Mode::kNoFit) {
      *why = std::max(*why, mildest.value_or(WaitReason::kNoMatchingFlavor));
      return false;
    }
    for (auto& [resource, choice] : best) {
      choice.tried = last;
      choices->emplace(resource, choice);
    }
    if (best_grade.mode != Mode::kFit) *why = std::max(*why, WaitReason::kWaitingForQuota);
    return true;
  }

  int Start(std::size_t at, int resource) const {
    if (only_ != nullptr || !Resumes(world_, index_)) return 0;
    const Scan& scan = *of_.scan;
    if (at >= scan.tried.size()) return 0;
    const auto it = scan.tried[at].find(resource);
    return it == scan.tried[at].end() ? 0 : it->second + 1;
  }

  bool StopsAt(const Grade& grade) const {
    if (grade.mode == Mode::kNoFit || grade.mode == Mode::kNoCandidates) return false;
    if (grade.mode != Mode::kFit && !queue_.stops_at_preempt) return false;
    return grade.level == 0 || queue_.stops_at_borrow;
  }

  bool CanHost(std::size_t at, int flavor) const {
    const Flavor& spec = world_.flavors[static_cast<std::size_t>(flavor)];
    const Pods& pods = of_.pods[at];
    if (!spec.taint.empty() && !pods.tolerates.count(spec.taint)) return false;
    // Kueue's own cases (flavor-assignment 0017, 0018) settled rule A28 here: of a selector count
    // the label keys of this flavor, not those of all flavors of the group.
    for (const auto& [key, value] : pods.selector) {
      const auto it = spec.labels.find(key);
      if (it != spec.labels.end() && it->second != value) return false;
    }
    return true;
  }

  bool InNomination(std::size_t at, const std::vector<int>& resources, int flavor) const {
    if (only_ == nullptr) return true;
    return std::all_of(resources.begin(), resources.end(), [&](int resource) {
      if (at >= only_->size()) return false;
      const auto it = (*only_)[at].find(resource);
      return it != (*only_)[at].end() && it->second == flavor;
    });
  }

  Grade GradeOf(int pair, Amount amount, WaitReason* why) {
    if (amount > sums_.Potential(of_.queue, pair)) {
      *why = WaitReason::kExceedsMaxQuota;
      return {Mode::kNoFit, 0};
    }
    const Level level = sums_.BorrowingLevel(of_.queue, pair, amount);
    if (amount <= sums_.Available(of_.queue, pair)) return {Mode::kFit, level.height};
    *why = WaitReason::kWaitingForQuota;
    const bool may_borrow = world_.settings.fair ? queue_.reclaim != EvictPolicy::kNever
                                                 : queue_.borrow_while_preempting;
    if (sums_.LimitsOf(of_.queue, pair).nominal < amount && !level.proper_subtree && !may_borrow) {
      return {Mode::kNoFit, 0};
    }
    Wish wish{
        index_, std::vector<Amount>(static_cast<std::size_t>(world_.Pairs())), {pair}, {pair}};
    wish.amounts[static_cast<std::size_t>(pair)] = amount;
    const std::vector<Victim> victims = FindVictims(world_, wish, ledger_);
    if (victims.empty()) return {Mode::kNoCandidates, level.height};
    Ledger without = *ledger_;
    bool own = false;
    for (const Victim& victim : victims) {
      own = own || world_.workloads[static_cast<std::size_t>(victim.workload)].queue == of_.queue;
      for (HeldQuota& held : without) held.out = held.out || held.workload == victim.workload;
    }
    const Level after = Sums(world_, without).BorrowingLevel(of_.queue, pair, amount);
    return {own ? Mode::kPreempt : Mode::kReclaim, after.height};
  }

  const World& world_;
  int index_;
  const Workload& of_;
  const Queue& queue_;
  const Mapping* only_;
  Ledger* ledger_;
  Sums sums_;
};

}  // namespace

bool Resumes(const World& world, int workload) {
  const Workload& of = world.workloads[static_cast<std::size_t>(workload)];
  if (!of.scan) return false;
  const Queue& queue = world.queues[static_cast<std::size_t>(of.queue)];
  return world.cycle - of.scan->cycle <= 1 || queue.generation <= of.scan->generation;
}

Assignment Nominate(const World& world, int workload, const Mapping* only, Ledger* ledger) {
  return Search(world, workload, only, ledger).Run();
}

}  // namespace muster::oracle
