#include "tests/property/oracle/oracle.h"

#include <algorithm>
#include <tuple>

namespace muster::oracle {
namespace {

// How many searches in a row may resume where an earlier one ended.
constexpr std::size_t kMostResumed = 255;

struct Entry {
  int workload = -1;
  Assignment assignment;
  bool resumed = false;   // its flavor search resumed where an earlier one ended
  bool deferred = false;  // DeferredFit
  Requeue requeue = Requeue::kFailedAfterNomination;
  WaitReason why = WaitReason::kWaitingForQuota;
  bool admitted = false;
  bool forget_scan = false;
};

const Workload& At(const World& world, int workload) {
  return world.workloads[static_cast<std::size_t>(workload)];
}
Queue& QueueOf(World* world, int workload) {
  return world->queues[static_cast<std::size_t>(At(*world, workload).queue)];
}

// The equivalence hash of rule A14.
std::string Hash(const Workload& of) {
  std::string text = std::to_string(of.priority);
  for (const Pods& pods : of.pods) {
    text += "/" + std::to_string(pods.count) + "-" + std::to_string(pods.min_count.value_or(-1));
    for (const auto& [resource, amount] : pods.requests) {
      text += "," + std::to_string(resource) + ":" + std::to_string(amount);
    }
    for (const auto& [key, value] : pods.selector) text += "," + key + "=" + value;
    for (const auto& key : pods.tolerates) text += ",~" + key;
  }
  return text;
}

// The head: sticky first, then priority, creation, name (rule A12).
std::optional<int> Pop(World* world, Queue* queue) {
  if (queue->active.empty()) return std::nullopt;
  const auto key = [&](int workload) {
    const Workload& of = At(*world, workload);
    return std::make_tuple(queue->strict || workload != queue->sticky, -of.priority, of.created,
                           workload);
  };
  const int head = *std::min_element(queue->active.begin(), queue->active.end(),
                                     [&](int a, int b) { return key(a) < key(b); });
  queue->active.erase(head);
  return head;
}

class Cycle {
 public:
  explicit Cycle(World* world)
      : world_(*world), ledger_(LedgerOf(*world)), sums_(*world, ledger_) {}

  Decisions Run() {
    ++world_.cycle;
    for (Queue& queue : world_.queues) {
      const auto head = Pop(&world_, &queue);
      if (!head) continue;
      Entry entry;
      entry.workload = *head;
      entry.resumed = Resumes(world_, *head);
      entry.assignment = Nominate(world_, *head, nullptr, &ledger_);
      entries_.push_back(std::move(entry));
    }
    while (!entries_.empty()) {
      const std::size_t next = world_.settings.fair ? FairNext() : ClassicalNext();
      Entry entry = std::move(entries_[next]);
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(next));
      Process(&entry);
      processed_.push_back(std::move(entry));
    }
    for (const Entry& entry : processed_) Settle(entry);
    return std::move(decisions_);
  }

 private:
  std::size_t ClassicalNext() const {
    const auto key = [&](const Entry& entry) {
      const Workload& of = At(world_, entry.workload);
      return std::make_tuple(entry.assignment.level, -of.priority, of.created, entry.workload);
    };
    return static_cast<std::size_t>(
        std::min_element(entries_.begin(), entries_.end(),
                         [&](const Entry& a, const Entry& b) { return key(a) < key(b); }) -
        entries_.begin());
  }

  // The tournament of rule A22, over the tree of the first entry.
  std::size_t FairNext() {
    const int queue = At(world_, entries_.front().workload).queue;
    if (sums_.Parent(queue) < 0) return 0;
    return *Winner(sums_.Root(queue));
  }

  struct TournamentRank {
    bool borrows = false;
    Share share;
  };

  // How the entry compares at `node`, a queue or a cohort above it, if it were admitted.
  TournamentRank StandingAt(int node, const Entry& entry) {
    const Wish& wish = entry.assignment.wish;
    ledger_.push_back({At(world_, entry.workload).queue, -1, wish.amounts, false});
    TournamentRank standing;
    standing.share = sums_.DominantShare(node);
    standing.borrows =
        world_.settings.prioritize_non_borrowing && !sums_.WithinNominal(node, wish.pairs);
    ledger_.pop_back();
    return standing;
  }

  std::optional<std::size_t> Winner(int cohort) {
    std::optional<std::size_t> best;
    TournamentRank best_standing;
    for (const int child : sums_.Children(cohort)) {
      std::optional<std::size_t> candidate;
      if (sums_.IsQueue(child)) {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
          if (At(world_, entries_[i].workload).queue == child) candidate = i;
        }
      } else {
        candidate = Winner(child);
      }
      if (!candidate) continue;
      const TournamentRank standing = StandingAt(child, entries_[*candidate]);
      if (!best || Beats(*candidate, standing, *best, best_standing)) {
        best = candidate;
        best_standing = standing;
      }
    }
    return best;
  }

  bool Beats(std::size_t a, const TournamentRank& left, std::size_t b,
             const TournamentRank& right) const {
    if (left.borrows != right.borrows) return right.borrows;
    if (!(left.share == right.share)) return left.share < right.share;
    const Workload& one = At(world_, entries_[a].workload);
    const Workload& other = At(world_, entries_[b].workload);
    return std::make_tuple(-one.priority, one.created) <
           std::make_tuple(-other.priority, other.created);
  }

  // Runs `what` with these workloads taken off the ledger.
  template <typename What>
  auto Without(const std::set<int>& gone, What what) {
    for (HeldQuota& held : ledger_) held.out = held.workload >= 0 && gone.count(held.workload) > 0;
    auto result = what();
    for (HeldQuota& held : ledger_) held.out = false;
    return result;
  }

  bool Overlaps(const Assignment& assignment) const {
    return std::any_of(assignment.victims.begin(), assignment.victims.end(),
                       [&](const Victim& victim) { return chosen_.count(victim.workload) > 0; });
  }

  bool Fits(const Entry& entry) {
    std::set<int> gone = chosen_;
    for (const Victim& victim : entry.assignment.victims) gone.insert(victim.workload);
    return Without(gone, [&] {
      return HasRoom(sums_, At(world_, entry.workload).queue, entry.assignment.wish);
    });
  }

  // What is only kept for others is not held yet, and victims hold theirs until they are gone.
  bool FitsBeside(const Entry& entry) {
    for (const std::size_t kept : kept_) ledger_[kept].out = true;
    const bool fits = HasRoom(sums_, At(world_, entry.workload).queue, entry.assignment.wish);
    for (const std::size_t kept : kept_) ledger_[kept].out = false;
    return fits;
  }

  void Keep(HeldQuota held) {
    kept_.push_back(ledger_.size());
    ledger_.push_back(std::move(held));
  }

  // Rule A23, b to m.
  void Process(Entry* entry) {
    if (world_.settings.recompute_on_overlap && Overlaps(entry->assignment)) {
      const Mapping mapping = entry->assignment.ToHolding(0).flavors;
      entry->assignment =
          Without(chosen_, [&] { return Nominate(world_, entry->workload, &mapping, &ledger_); });
      entry->deferred = entry->assignment.fitness == Fitness::kFit;
    }
    const Assignment& assignment = entry->assignment;
    const int queue = At(world_, entry->workload).queue;
    if (assignment.fitness == Fitness::kNoFit) {
      entry->requeue = Requeue::kNoFit;
      entry->why = assignment.why;
    } else if (assignment.fitness == Fitness::kPreempt && assignment.victims.empty()) {
      entry->requeue = Requeue::kNoCandidates;
      Reserve(queue, assignment);
    } else if (assignment.fitness == Fitness::kPreempt && At(world_, entry->workload).gated) {
      entry->requeue = Requeue::kGated;
      entry->why = WaitReason::kPreemptionGated;
    } else if (entry->deferred) {
      Keep({queue, -1, assignment.wish.amounts, false});
      entry->requeue = Requeue::kPendingPreemption;
      entry->why = WaitReason::kWaitingForPreempted;
      entry->forget_scan = true;
    } else if (!Overlaps(assignment) && Fits(*entry)) {
      const bool starts = assignment.fitness == Fitness::kFit;
      if (!starts || chosen_.empty() || FitsBeside(*entry)) Take(entry);
    }
  }

  void Take(Entry* entry) {
    const Assignment& assignment = entry->assignment;
    HeldQuota held{At(world_, entry->workload).queue, -1, assignment.wish.amounts, false};
    if (assignment.fitness == Fitness::kFit) {
      ledger_.push_back(std::move(held));
      entry->admitted = true;
      decisions_.admitted.push_back({entry->workload, assignment.ToHolding(world_.clock)});
      return;
    }
    Keep(std::move(held));
    for (const Victim& victim : assignment.victims) {
      chosen_.insert(victim.workload);
      decisions_.evicted.push_back({victim, entry->workload, At(world_, victim.workload).evicting});
    }
    entry->requeue = Requeue::kPendingPreemption;
    entry->why = WaitReason::kWaitingForPreempted;
    entry->forget_scan = true;
  }

  // Rule A24: the quota that a preemptor without victims keeps from later entries.
  void Reserve(int queue, const Assignment& assignment) {
    const Queue& spec = world_.queues[static_cast<std::size_t>(queue)];
    if (spec.reclaim == EvictPolicy::kAny) return;
    HeldQuota reserved{queue, -1, assignment.wish.amounts, false};
    for (const int pair : assignment.wish.pairs) {
      Amount& amount = reserved.amounts[static_cast<std::size_t>(pair)];
      const Limits& limits = sums_.LimitsOf(queue, pair);
      const Amount left = Minus(limits.nominal, sums_.Used(queue, pair));
      if (assignment.level == 0) {
        amount = std::max<Amount>(0, std::min(amount, left));
      } else if (limits.borrowing) {
        amount = std::min(amount, Plus(left, *limits.borrowing));
      }
    }
    Keep(std::move(reserved));
  }

  static bool FlavorsLeft(const Position& position) {
    return std::any_of(position.begin(), position.end(), [](const auto& tried) {
      return std::any_of(tried.begin(), tried.end(),
                         [](const auto& of) { return of.second != -1; });
    });
  }

  // Effects on the world (rule A15).
  void Settle(const Entry& entry) {
    Workload& of = world_.workloads[static_cast<std::size_t>(entry.workload)];
    Queue& queue = QueueOf(&world_, entry.workload);
    for (const Victim& victim : entry.assignment.victims) {
      if (entry.requeue == Requeue::kPendingPreemption) {
        world_.workloads[static_cast<std::size_t>(victim.workload)].evicting = true;
      }
    }
    std::vector<Position> before;
    if (entry.resumed) {
      before = of.scan->before;
      before.push_back(of.scan->tried);
    }
    of.scan.reset();
    if (entry.admitted) {
      of.holding = entry.assignment.ToHolding(world_.clock);
      if (queue.sticky == entry.workload) queue.sticky = -1;
      return;
    }
    decisions_.waiting.push_back({entry.workload, entry.why, entry.requeue});
    const Position tried = entry.assignment.Tried();
    // In Kueue the flavor scans of several resources may be out of step and repeat for ever, while
    // the queue's other workloads wait. Here such a search ends when it reaches a position that it
    // had before.
    const bool ends = !FlavorsLeft(tried) || before.size() >= kMostResumed ||
                      std::count(before.begin(), before.end(), tried) > 0;
    if (!entry.forget_scan && !ends) {
      of.scan = Scan{tried, std::move(before), world_.cycle, queue.generation};
    }
    if (entry.requeue == Requeue::kPendingPreemption) queue.sticky = entry.workload;
    const bool immediate = queue.strict || entry.requeue == Requeue::kFailedAfterNomination ||
                           entry.requeue == Requeue::kPendingPreemption;
    if (immediate || of.scan) {
      queue.active.insert(entry.workload);
      return;
    }
    queue.parked.insert(entry.workload);
    if (world_.settings.hashing && entry.requeue != Requeue::kGated) ParkEquals(&queue, Hash(of));
  }

  void ParkEquals(Queue* queue, const std::string& hash) {
    queue->parked_hashes.insert(hash);
    for (auto it = queue->active.begin(); it != queue->active.end();) {
      if (Hash(At(world_, *it)) == hash) {
        queue->parked.insert(*it);
        it = queue->active.erase(it);
      } else {
        ++it;
      }
    }
  }

  World& world_;
  Ledger ledger_;
  Sums sums_;
  std::vector<Entry> entries_;
  std::vector<Entry> processed_;
  std::set<int> chosen_;           // victims chosen so far in this cycle
  std::vector<std::size_t> kept_;  // places in the ledger of what is kept for waiting workloads
  Decisions decisions_;
};

void Push(World* world, int workload) {
  Queue& queue = QueueOf(world, workload);
  const bool known = world->settings.hashing && !queue.strict &&
                     queue.parked_hashes.count(Hash(At(*world, workload))) > 0;
  (known ? queue.parked : queue.active).insert(workload);
}

// Wakes what is parked in the whole tree of a queue.
void Flush(World* world, int queue) {
  const Ledger none;
  const Sums sums(*world, none);
  for (int i = 0; i < static_cast<int>(world->queues.size()); ++i) {
    if (sums.Root(i) != sums.Root(queue)) continue;
    Queue& woken = world->queues[static_cast<std::size_t>(i)];
    woken.active.insert(woken.parked.begin(), woken.parked.end());
    woken.parked.clear();
    woken.parked_hashes.clear();
  }
}

void Release(World* world, int workload) {
  Workload& of = world->workloads[static_cast<std::size_t>(workload)];
  of.holding.reset();
  of.evicting = false;
  of.scan.reset();
  ++QueueOf(world, workload).generation;
}

}  // namespace

bool Decisions::Moves() const {
  return !admitted.empty() || std::any_of(evicted.begin(), evicted.end(),
                                          [](const EvictedWorkload& of) { return !of.already; });
}

Decisions RunCycle(World* world) { return Cycle(world).Run(); }

void Enqueue(World* world) {
  for (int i = 0; i < static_cast<int>(world->workloads.size()); ++i) {
    if (!At(*world, i).holding && !At(*world, i).done) Push(world, i);
  }
}

void FinishEvictions(World* world) {
  std::vector<int> stopped;
  for (int i = 0; i < static_cast<int>(world->workloads.size()); ++i) {
    if (At(*world, i).evicting) stopped.push_back(i);
  }
  for (const int workload : stopped) {
    Release(world, workload);
    Push(world, workload);
  }
  for (const int workload : stopped) Flush(world, At(*world, workload).queue);
}

void Finish(World* world, int workload) {
  Release(world, workload);
  world->workloads[static_cast<std::size_t>(workload)].done = true;
  Flush(world, At(*world, workload).queue);
}

bool IsActive(const World& world, int workload) {
  return world.queues[static_cast<std::size_t>(At(world, workload).queue)].active.count(workload) >
         0;
}

std::string StateOf(const World& world) {
  std::string text;
  for (const Queue& queue : world.queues) {
    text += "|" + std::to_string(queue.sticky) + ":";
    for (const int workload : queue.active) text += std::to_string(workload) + ",";
  }
  for (const Workload& of : world.workloads) {
    text += of.done ? "d" : of.evicting ? "e" : of.holding ? "h" : "w";
    if (!of.scan) continue;
    const int generation = world.queues[static_cast<std::size_t>(of.queue)].generation;
    text += world.cycle - of.scan->cycle >= 1 && generation > of.scan->generation ? "o" : "s";
    std::vector<Position> positions = of.scan->before;
    positions.push_back(of.scan->tried);
    for (const Position& position : positions) {
      text += "(";
      for (const auto& tried : position) {
        for (const auto& [resource, index] : tried) text += std::to_string(index) + ".";
      }
    }
  }
  return text;
}

std::vector<Decisions> RunToQuiescence(World* world, int most) {
  std::vector<Decisions> cycles;
  std::set<std::string> seen;
  for (int i = 0; i < most; ++i) {
    ++world->clock;
    cycles.push_back(RunCycle(world));
    const bool moved = cycles.back().Moves();
    const bool evicting = std::any_of(world->workloads.begin(), world->workloads.end(),
                                      [](const Workload& of) { return of.evicting; });
    FinishEvictions(world);
    if (moved || evicting) seen.clear();
    if (!seen.insert(StateOf(*world)).second) break;
  }
  return cycles;
}

}  // namespace muster::oracle
