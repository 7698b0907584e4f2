// The order of a round (rules A21, A22).
//
// The tournament: each entrant's usage is added to its queue for a moment, and the share of every
// node from the queue up to below the root is noted (Look). At each cohort the best of its
// children's winners wins, judged at the child that it comes from; the winner at the root is
// processed next. Then the usage may have changed in the winner's branch below the root and nowhere
// else, so only the entrants of this branch are looked at again before the next call. Trees are
// done one after another, in node order.
#include "schedd/core/cycle/cycle_order.h"

#include <algorithm>
#include <tuple>

namespace muster::core {
namespace {

// Earlier queue timestamp, then earlier acceptance.
std::tuple<WallTime, std::int64_t, std::int64_t> Arrival(const EntryRank& rank) {
  return {rank.queue_time, rank.sequence, rank.id};
}

}  // namespace

bool ClassicalBefore(const EntryRank& a, const EntryRank& b, const AdmissionSettings& settings) {
  if (a.holds_quota != b.holds_quota) return a.holds_quota;
  if (settings.prioritize_preemptors && a.preemptor != b.preemptor) return a.preemptor;
  if (a.tier != b.tier) return a.tier > b.tier;
  if (a.level != b.level) return a.level < b.level;
  if (settings.priority_sorting_within_cohort && a.priority != b.priority) {
    return a.priority > b.priority;
  }
  return Arrival(a) < Arrival(b);
}

FairTournament::FairTournament(const AdmissionSettings& settings, Usage* usage,
                               std::vector<Entrant> entrants)
    : settings_(settings), usage_(usage), entrants_(std::move(entrants)) {
  const QuotaTree& tree = usage_->tree();
  of_queue_.assign(tree.node_count(), -1);
  left_below_.assign(tree.node_count(), 0);
  standings_.resize(entrants_.size());
  looked_.resize(entrants_.size());
  left_ = entrants_.size();
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    const NodeIndex queue = entrants_[i].queue;
    of_queue_[Pos(queue)] = static_cast<std::ptrdiff_t>(i);
    for (NodeIndex at = queue; at >= 0; at = tree.node(at).parent) ++left_below_[Pos(at)];
  }
}

// The queue or its ancestor whose parent is the root; the root itself if the queue has no parent.
NodeIndex FairTournament::BelowRoot(NodeIndex queue) const {
  const QuotaTree& tree = usage_->tree();
  NodeIndex at = queue;
  while (tree.node(at).parent >= 0 && tree.node(tree.node(at).parent).parent >= 0) {
    at = tree.node(at).parent;
  }
  return at;
}

// Notes share and borrowing of each node from the entrant's queue upwards, with its usage added.
void FairTournament::Look(std::size_t entrant) {
  const Entrant& one = entrants_[entrant];
  const QuotaTree& tree = usage_->tree();
  for (const Charge& charge : one.adds) usage_->Add(one.queue, charge.pair, charge.amount);
  NodeShares& standings = standings_[entrant];
  standings.clear();
  for (NodeIndex at = one.queue; tree.node(at).parent >= 0; at = tree.node(at).parent) {
    standings.push_back({at, {ShareOf(*usage_, at), BorrowsOn(*usage_, at, one.adds)}});
  }
  for (auto charge = one.adds.rbegin(); charge != one.adds.rend(); ++charge) {
    usage_->Remove(one.queue, charge->pair, charge->amount);
  }
}

const FairTournament::NodeShare& FairTournament::At(std::size_t entrant, NodeIndex node) const {
  const NodeShares& standings = standings_[entrant];
  return std::find_if(standings.begin(), standings.end(),
                      [&](const auto& entry) { return entry.first == node; })
      ->second;
}

// True if entrant `a`, seen at node `at_a`, beats `b`, seen at `at_b` (rule A22).
bool FairTournament::Better(std::size_t a, NodeIndex at_a, std::size_t b, NodeIndex at_b) const {
  const EntryRank& x = *entrants_[a].rank;
  const EntryRank& y = *entrants_[b].rank;
  if (settings_.prioritize_preemptors && x.preemptor != y.preemptor) return x.preemptor;
  const NodeShare& of_a = At(a, at_a);
  const NodeShare& of_b = At(b, at_b);
  if (settings_.fair_prioritize_non_borrowing && of_a.borrowing != of_b.borrowing) {
    return of_b.borrowing;
  }
  const int shares = Compare(of_a.share, of_b.share);
  if (shares != 0) return shares < 0;
  if (settings_.priority_sorting_within_cohort && x.priority != y.priority) {
    return x.priority > y.priority;
  }
  return Arrival(x) < Arrival(y);
}

// The best entrant below a cohort, judged at the cohort's children; -1 if none is left.
std::ptrdiff_t FairTournament::Winner(NodeIndex cohort) const {
  const QuotaTree& tree = usage_->tree();
  std::ptrdiff_t best = -1;
  NodeIndex best_at = -1;
  for (const NodeIndex child : tree.node(cohort).children) {
    if (left_below_[Pos(child)] == 0) continue;
    const std::ptrdiff_t one =
        tree.node(child).is_cluster_queue ? of_queue_[Pos(child)] : Winner(child);
    const auto entrant = static_cast<std::size_t>(one);
    if (best < 0 || Better(entrant, child, static_cast<std::size_t>(best), best_at)) {
      best = one;
      best_at = child;
    }
  }
  return best;
}

std::size_t FairTournament::Next() {
  const QuotaTree& tree = usage_->tree();
  while (of_queue_[Pos(next_queue_)] < 0) ++next_queue_;
  auto winner = static_cast<std::size_t>(of_queue_[Pos(next_queue_)]);
  const NodeIndex root = tree.node(next_queue_).root;
  // A queue without cohort needs no tournament.
  if (root != next_queue_) {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      const NodeIndex queue = entrants_[i].queue;
      if (looked_[i] || of_queue_[Pos(queue)] < 0 || tree.node(queue).root != root) continue;
      Look(i);
      looked_[i] = true;
    }
    winner = static_cast<std::size_t>(Winner(root));
  }
  const NodeIndex queue = entrants_[winner].queue;
  // Shares are taken below the root, so only those of the winner's branch can change.
  const NodeIndex branch = BelowRoot(queue);
  if (branch != queue) {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      if (looked_[i] && BelowRoot(entrants_[i].queue) == branch) looked_[i] = false;
    }
  }
  of_queue_[Pos(queue)] = -1;
  for (NodeIndex at = queue; at >= 0; at = tree.node(at).parent) --left_below_[Pos(at)];
  --left_;
  return entrants_[winner].entry;
}

}  // namespace muster::core
