#include "tests/property/oracle/sums.h"

#include <algorithm>

namespace muster::oracle {

HeldQuota HeldBy(const World& world, int workload) {
  const Workload& of = world.workloads[static_cast<std::size_t>(workload)];
  HeldQuota held{
      of.queue, workload, std::vector<Amount>(static_cast<std::size_t>(world.Pairs())), false, {}};
  for (std::size_t i = 0; i < of.pods.size(); ++i) {
    for (const auto& [resource, flavor] : of.holding->flavors[i]) {
      const int pair = world.Pair(flavor, resource);
      held.pairs.insert(pair);
      held.amounts[static_cast<std::size_t>(pair)] +=
          of.pods[i].requests.at(resource) * of.holding->counts[i];
    }
  }
  return held;
}

Ledger LedgerOf(const World& world) {
  Ledger ledger;
  for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
    if (world.workloads[static_cast<std::size_t>(i)].holding) ledger.push_back(HeldBy(world, i));
  }
  return ledger;
}

Amount Plus(Amount a, Amount b) { return a == kUnbounded || b == kUnbounded ? kUnbounded : a + b; }
Amount Minus(Amount a, Amount b) { return a == kUnbounded ? kUnbounded : a - b; }

bool operator<(const Share& a, const Share& b) {
  if (a.infinite != b.infinite) return b.infinite;
  return a.infinite ? a.unweighted < b.unweighted : a.weighted < b.weighted;
}
bool operator==(const Share& a, const Share& b) { return !(a < b) && !(b < a); }

Sums::Sums(const World& world, const Ledger& ledger)
    : world_(world), ledger_(ledger), queue_count_(static_cast<int>(world.queues.size())) {
  children_.resize(world.queues.size() + world.cohorts.size());
  for (int node = 0; node < static_cast<int>(children_.size()); ++node) {
    if (Parent(node) >= 0) children_[Index(Parent(node))].push_back(node);
  }
}

const Place& Sums::PlaceOf(int node) const {
  if (IsQueue(node)) return world_.queues[Index(node)];
  return world_.cohorts[Index(node - queue_count_)];
}

int Sums::Parent(int node) const {
  const int cohort = PlaceOf(node).cohort;
  return cohort < 0 ? -1 : queue_count_ + cohort;
}

int Sums::Root(int node) const { return Parent(node) < 0 ? node : Root(Parent(node)); }

const Limits& Sums::LimitsOf(int node, int pair) const {
  static const Limits kNone;
  const auto& quotas = PlaceOf(node).quotas;
  const auto it = quotas.find(pair);
  return it == quotas.end() ? kNone : it->second;
}

int Sums::Height(int node) const {
  int height = 0;
  for (const int child : Children(node)) height = std::max(height, 1 + Height(child));
  return height;
}

Amount Sums::Subtree(int node, int pair) const {
  Amount sum = LimitsOf(node, pair).nominal;
  for (const int child : Children(node)) {
    sum = Plus(sum, Minus(Subtree(child, pair), Local(child, pair)));
  }
  return sum;
}

Amount Sums::Local(int node, int pair) const {
  const auto& lending = LimitsOf(node, pair).lending;
  return lending ? std::max<Amount>(0, Minus(Subtree(node, pair), *lending)) : 0;
}

Amount Sums::Used(int node, int pair) const {
  Amount sum = 0;
  if (IsQueue(node)) {
    for (const HeldQuota& held : ledger_) {
      if (held.queue == node && !held.out) sum += held.amounts[Index(pair)];
    }
  }
  for (const int child : Children(node)) {
    sum += std::max<Amount>(0, Used(child, pair) - Local(child, pair));
  }
  return sum;
}

Amount Sums::LocalAvailable(int node, int pair) const {
  return std::max<Amount>(0, Local(node, pair) - Used(node, pair));
}

Amount Sums::AvailableAt(int node, int pair) const {
  const Amount used = Used(node, pair);
  if (Parent(node) < 0) return Minus(Subtree(node, pair), used);
  const Amount local = Local(node, pair);
  Amount from_parent = AvailableAt(Parent(node), pair);
  if (const auto& limit = LimitsOf(node, pair).borrowing) {
    const Amount lent = Minus(Minus(Subtree(node, pair), local), std::max<Amount>(0, used - local));
    from_parent = std::min(from_parent, Plus(lent, *limit));
  }
  return Plus(std::max<Amount>(0, local - used), from_parent);
}

Amount Sums::Available(int queue, int pair) const {
  return std::max<Amount>(0, AvailableAt(queue, pair));
}

Amount Sums::Potential(int node, int pair) const {
  if (Parent(node) < 0) return Subtree(node, pair);
  const Amount most = Plus(Local(node, pair), Potential(Parent(node), pair));
  const auto& limit = LimitsOf(node, pair).borrowing;
  return limit ? std::min(most, Plus(Subtree(node, pair), *limit)) : most;
}

bool Sums::BorrowsWith(int node, int pair, Amount amount) const {
  return Used(node, pair) + amount > Subtree(node, pair);
}

bool Sums::WithinNominal(int node, const std::vector<int>& pairs) const {
  return std::none_of(pairs.begin(), pairs.end(),
                      [&](int pair) { return BorrowsWith(node, pair, 0); });
}

bool Sums::Borrows(int node) const {
  for (int pair = 0; pair < world_.Pairs(); ++pair) {
    if (BorrowsWith(node, pair, 0)) return true;
  }
  return false;
}

Level Sums::BorrowingLevel(int queue, int pair, Amount amount) const {
  if (!BorrowsWith(queue, pair, amount)) return {0, Parent(queue) >= 0};
  if (Parent(queue) < 0) return {0, false};
  Amount rest = amount - LocalAvailable(queue, pair);
  int node = Parent(queue);
  for (; Parent(node) >= 0 && BorrowsWith(node, pair, rest); node = Parent(node)) {
    rest -= LocalAvailable(node, pair);
  }
  return {Height(node), Parent(node) >= 0};
}

Share Sums::DominantShare(int node) const {
  Share share;
  if (Parent(node) < 0) return share;
  bool borrows = false;
  for (int resource = 0; resource < static_cast<int>(world_.resources.size()); ++resource) {
    Amount borrowed = 0;
    Amount lendable = 0;
    for (int flavor = 0; flavor < static_cast<int>(world_.flavors.size()); ++flavor) {
      const int pair = world_.Pair(flavor, resource);
      borrowed += std::max<Amount>(0, Used(node, pair) - Subtree(node, pair));
      lendable = Plus(lendable, Potential(Parent(node), pair));
    }
    borrows = borrows || borrowed > 0;
    if (borrowed == 0 || lendable <= 0) continue;
    share.unweighted = std::max(
        share.unweighted, static_cast<double>(borrowed) * 1000.0 / static_cast<double>(lendable));
  }
  const double weight = PlaceOf(node).weight;
  share.infinite = weight == 0 && borrows;
  share.weighted = weight == 0 ? 0 : share.unweighted / weight;
  return share;
}

}  // namespace muster::oracle
