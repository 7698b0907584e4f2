// Classical preemption (rule A37; KEP-83, KEP-1337, KEP-79).
//
// 1. Collect. Candidates of the own queue by withinClusterQueue; those of other queues by
//    reclaimWithinCohort, from the parent up to the root: at each ancestor its subtree without the
//    part that was visited before, and without nodes that are within their quota of the contested
//    pairs, because these have nothing to give back. A candidate is *hierarchical* if the request
//    fits the own quota of a node below the ancestor: that side of the tree then claims its own.
//    Else it is a candidate *by priority*.
// 2. Attempt, with or without borrowing (Attempts has the order). Take candidates one by one:
//    evicted ones first, then hierarchical, by priority, own queue. Before each one, its queue and
//    the cohorts up to the common ancestor must still use more than their quota. A candidate by
//    priority may be taken while the preemptor borrows only if borrowWithinCohort allows it.
// 3. The first time that all requests fit, put back the victims that can be spared (rule A38).
//
// Candidates are merged from sorted lists, one per queue, so a search that succeeds early, or that
// meets only protected priorities, looks at few holders. During an attempt usage only falls. So a
// source that has become useless stays useless and is dropped as a whole.
#include "schedd/core/preempt/preemption_classical.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster::core {

void CandidateMerge::Add(Source source) {
  if (source.list.empty()) return;
  sources_.push_back(std::move(source));
  heap_.push_back(sources_.size() - 1);
  std::push_heap(heap_.begin(), heap_.end(),
                 [this](std::size_t a, std::size_t b) { return After(a, b); });
}

bool CandidateMerge::HasRank(int rank) const {
  return std::any_of(sources_.begin(), sources_.end(),
                     [rank](const Source& source) { return source.rank == rank; });
}

// True if the next candidate of `b` comes before that of `a`: the heap has the first at its top.
bool CandidateMerge::After(std::size_t a, std::size_t b) const {
  const Source& left = sources_[a];
  const Source& right = sources_[b];
  return LookedAtBefore(*right.list.head(), right.rank, *left.list.head(), left.rank);
}

const HolderPtr* CandidateMerge::Pop() {
  const auto after = [this](std::size_t a, std::size_t b) { return After(a, b); };
  std::pop_heap(heap_.begin(), heap_.end(), after);
  Source& source = sources_[heap_.back()];
  const HolderPtr* holder = source.list.Pop();
  if (source.list.empty()) {
    heap_.pop_back();
  } else {
    std::push_heap(heap_.begin(), heap_.end(), after);
  }
  return holder;
}

void CandidateMerge::DropTop() {
  std::pop_heap(heap_.begin(), heap_.end(),
                [this](std::size_t a, std::size_t b) { return After(a, b); });
  heap_.pop_back();
}

namespace {

// The order in which the three kinds of candidates are looked at.
constexpr int kHierarchical = 0;  // the request is within quota on the preemptor's side
constexpr int kByPriority = 1;
constexpr int kOwnQueue = 2;

// One search: collects the candidates once and makes one or two attempts with copies of them.
class ClassicalSearch {
 public:
  ClassicalSearch(const VictimQuery& query, VictimRoom* room)
      : query_(query),
        room_(*room),
        tree_(room->usage().tree()),
        queue_(query.preemptor.queue),
        policy_(tree_.node(queue_).preemption) {}

  std::vector<Victim> Run() {
    candidates_.Add({CandidateList(query_, queue_, policy_.within_cluster_queue), kOwnQueue, -1});
    if (policy_.reclaim_within_cohort != PreemptionPolicy::kNever) CollectFromTree();
    if (candidates_.empty()) return {};
    for (const bool may_borrow : Attempts()) {
      std::vector<Victim> victims = Attempt(may_borrow);
      if (!victims.empty()) return victims;
    }
    return {};
  }

 private:
  // True if the node uses no more than its quota of any contested pair.
  bool WithinQuota(NodeIndex node) const {
    return room_.usage().WithinQuota(node, query_.contested);
  }

  // Candidates of other queues: up the tree, at each ancestor its subtree without the one visited
  // before.
  void CollectFromTree() {
    std::vector<Charge> left(query_.requests.begin(), query_.requests.end());
    bool advantage = FitsQuota(queue_, &left);
    NodeIndex visited = -1;
    for (NodeIndex at = tree_.node(queue_).parent; at >= 0; at = tree_.node(at).parent) {
      if (advantage || ByPriorityIsOfUse()) {
        CollectBelow(at, at, visited, advantage ? kHierarchical : kByPriority);
      }
      advantage = FitsQuota(at, &left) || advantage;
      visited = at;
    }
  }

  // True if the node's own quota holds the requests of `left`. Reduces `left` to the part that must
  // come from the node's parent.
  bool FitsQuota(NodeIndex node, std::vector<Charge>* left) const {
    const Usage& usage = room_.usage();
    bool fits = true;
    for (Charge& charge : *left) {
      const std::int64_t with = SaturatingAdd(usage.At(node, charge.pair), charge.amount);
      fits = fits && with <= tree_.node(node).subtree[static_cast<std::size_t>(charge.pair)];
      charge.amount = std::max<std::int64_t>(
          0, SaturatingSub(charge.amount, usage.LocalAvailable(node, charge.pair)));
    }
    return fits;
  }

  // Adds the queues below `cohort` that use more than their quota, except for the preemptor's own
  // and the subtree `visited`.
  void CollectBelow(NodeIndex cohort, NodeIndex common, NodeIndex visited, int rank) {
    for (const NodeIndex child : tree_.node(cohort).children) {
      if (child == visited || child == queue_ || WithinQuota(child)) continue;
      if (tree_.node(child).is_cluster_queue) {
        candidates_.Add(
            {CandidateList(query_, child, policy_.reclaim_within_cohort), rank, common});
      } else {
        CollectBelow(child, common, visited, rank);
      }
    }
  }

  // The values of may_borrow to try, in this order (rule A37).
  std::vector<bool> Attempts() const {
    const bool others = candidates_.HasRank(kHierarchical) || candidates_.HasRank(kByPriority);
    if (!others || !ByPriorityIsOfUse()) return {true};
    const bool first_without = !MayBorrowAtAll() && !candidates_.HasRank(kHierarchical);
    return first_without ? std::vector<bool>{false, true} : std::vector<bool>{true, false};
  }

  bool MayBorrowAtAll() const { return policy_.borrow_within_cohort != PreemptionPolicy::kNever; }

  // False if no attempt can take a candidate by priority: borrowing is forbidden and the queue has
  // no nominal quota left, so the only attempt is one with borrowing.
  bool ByPriorityIsOfUse() const { return MayBorrowAtAll() || UnderNominal(); }

  // True if the queue has nominal quota left of every contested pair.
  bool UnderNominal() const {
    const auto& quotas = tree_.node(queue_).quotas;
    return std::all_of(query_.contested.begin(), query_.contested.end(), [&](auto pair) {
      return room_.usage().At(queue_, pair) < quotas[static_cast<std::size_t>(pair)].nominal;
    });
  }

  std::vector<Victim> Attempt(bool may_borrow) {
    CandidateMerge candidates = candidates_;
    while (!candidates.empty()) {
      const CandidateMerge::Source& source = candidates.top();
      const int rank = source.rank;
      // Usage only falls during an attempt, so a source that is useless now stays so.
      const bool no_use = rank == kByPriority && may_borrow && !MayBorrowAtAll();
      if (no_use || (rank != kOwnQueue && !StillBorrows(source))) {
        candidates.DropTop();
        continue;
      }
      const HolderPtr& holder = *candidates.Pop();
      const Reason reason = ReasonFor(*holder, rank);
      const bool without_borrowing_only = rank == kByPriority && !MayBorrowFor(*holder);
      if (may_borrow && without_borrowing_only) continue;
      room_.Take(holder, reason);
      if (room_.Fits(may_borrow)) return room_.Settle(may_borrow);
    }
    room_.Restore();
    return {};
  }

  // False if the queue, or a cohort between it and the common one, is back within its quota: then
  // it has nothing more to give.
  bool StillBorrows(const CandidateMerge::Source& source) const {
    for (NodeIndex at = source.list.queue(); at != source.common; at = tree_.node(at).parent) {
      if (WithinQuota(at)) return false;
    }
    return true;
  }

  // borrowWithinCohort (KEP-1337): true if the preemptor may borrow while it evicts this holder.
  bool MayBorrowFor(const Holder& holder) const {
    if (!MayBorrowAtAll()) return false;
    if (holder.priority >= query_.preemptor.priority) return false;
    const auto& threshold = policy_.max_priority_threshold;
    return !threshold || holder.priority <= *threshold;
  }

  Reason ReasonFor(const Holder& holder, int rank) const {
    if (rank == kOwnQueue) return Reason::kInClusterQueue;
    if (rank == kByPriority && MayBorrowFor(holder)) return Reason::kInCohortReclaimWhileBorrowing;
    return Reason::kInCohortReclamation;
  }

  const VictimQuery& query_;
  VictimRoom& room_;
  const QuotaTree& tree_;
  const NodeIndex queue_;
  const QueuePreemption& policy_;
  CandidateMerge candidates_;
};

}  // namespace

std::vector<Victim> ClassicalVictims(const VictimQuery& query, VictimRoom* room) {
  return ClassicalSearch(query, room).Run();
}

}  // namespace muster::core
