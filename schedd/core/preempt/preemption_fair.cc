// Preemption under fair sharing (rule A41; KEP-1714).
//
// Candidates are those of the own queue (withinClusterQueue) and of every queue of the tree that
// borrows a contested pair (reclaimWithinCohort). During the search the preemptor's requests count
// as used, so that its share is the one it would have. FairTargets names the queue with the highest
// share; then:
//
//   - the own queue gives its first candidate;
//   - if the preemptor stays within its nominal quota with the request, any candidate is taken
//     (gate FairSharingPreemptWithinNominal);
//   - else the shares of the two children of the lowest common cohort are compared, the preemptor's
//     and the candidate's. LessThanOrEqualToFinalShare takes a candidate if the preemptor's share
//     is at most the other's without that candidate; LessThanInitialShare if it is below the
//     other's share now.
//
// Candidates that the first strategy spares, at most one of each queue, may go to the second
// strategy, which is always LessThanInitialShare. The search ends when the requests fit with the
// preemptor taken off again; then the victims that can be spared are put back (rule A38).
// borrowWithinCohort plays no part under fair sharing.
#include "schedd/core/preempt/preemption_fair.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedd/base/quantity.h"
#include "schedd/core/preempt/fair_targets.h"

namespace muster::core {
namespace {

constexpr FairStrategy kDefault = FairStrategy::kLessThanOrEqualToFinalShare;

// One search; Run is called once.
class FairSearch {
 public:
  FairSearch(const VictimQuery& query, VictimRoom* room)
      : query_(query),
        room_(*room),
        tree_(room->usage().tree()),
        own_(query.preemptor.queue),
        targets_(room->usage(), own_) {}

  std::vector<Victim> Run() {
    if (!CanAssume() || !Collect()) return {};
    room_.AssumePreemptor();
    const auto& strategies = *query_.settings.fair_sharing;
    // An empty list means Kueue's default, both strategies.
    const bool second = strategies.size() != 1;
    const bool found =
        First(strategies.empty() ? kDefault : strategies.front()) || (second && Second());
    room_.RetractPreemptor();
    if (found) return room_.Settle(true);
    room_.Restore();
    return {};
  }

 private:
  // False if adding the requests would saturate a sum: it could not be taken off again.
  bool CanAssume() const {
    for (const Charge& charge : query_.requests) {
      for (NodeIndex at = own_; at >= 0; at = tree_.node(at).parent) {
        const std::int64_t used = room_.usage().At(at, charge.pair);
        if (SaturatingAdd(used, charge.amount) == kUnlimited) return false;
      }
    }
    return true;
  }

  // Adds the own candidates and those of every queue of the tree that borrows a contested pair.
  // False if there are no candidates.
  bool Collect() {
    const QueuePreemption& policy = tree_.node(own_).preemption;
    CandidateList own(query_, own_, policy.within_cluster_queue);
    bool any = !own.empty();
    targets_.Add(std::move(own));
    if (policy.reclaim_within_cohort != PreemptionPolicy::kNever) {
      CollectBelow(tree_.node(own_).root, policy.reclaim_within_cohort, &any);
    }
    return any;
  }

  void CollectBelow(NodeIndex cohort, PreemptionPolicy policy, bool* any) {
    for (const NodeIndex child : tree_.node(cohort).children) {
      if (!tree_.node(child).is_cluster_queue) {
        CollectBelow(child, policy, any);
      } else if (child != own_ && !room_.usage().WithinQuota(child, query_.contested)) {
        CandidateList list(query_, child, policy);
        *any = *any || !list.empty();
        targets_.Add(std::move(list));
      }
    }
  }

  // Takes a victim. True if all requests fit now, measured without the preemptor's own usage.
  bool TakeAndTest(const HolderPtr& holder, Reason reason) {
    room_.Take(holder, reason);
    if (room_.StillLacks()) return false;
    room_.RetractPreemptor();
    const bool fits = room_.Fits(true);
    room_.AssumePreemptor();
    return fits;
  }

  // The first strategy. True once the preemptor fits.
  bool First(FairStrategy strategy) {
    // A queue may take back its nominal quota whatever the shares are.
    const bool entitled = query_.settings.fair_preempt_within_nominal &&
                          room_.usage().WithinQuota(own_, query_.contested);
    while (CandidateList* list = targets_.Next()) {
      if (list->queue() == own_) {
        if (TakeAndTest(*list->Pop(), Reason::kInClusterQueue)) return true;
      } else if (entitled) {
        if (TakeAndTest(*list->Pop(), Reason::kInCohortReclamation)) return true;
      } else if (const HolderPtr* holder = Choose(strategy, list)) {
        if (TakeAndTest(*holder, Reason::kInCohortFairSharing)) return true;
      }
    }
    return false;
  }

  // The first candidate of `list` that the strategy gives away; null if it gives none.
  const HolderPtr* Choose(FairStrategy strategy, CandidateList* list) {
    const NodeIndex queue = list->queue();
    const NodeIndex side = targets_.SideOf(queue);
    const Share mine = ShareOf(room_.usage(), targets_.PreemptorSide(queue));
    const int order = Compare(mine, ShareOf(room_.usage(), side));
    if (strategy == FairStrategy::kLessThanInitialShare && order < 0) return list->Pop();
    // LessThanInitialShare failed; or, with the other strategy, the preemptor's share is above the
    // other side's already, and taking a candidate away would only lower that one.
    if (strategy == FairStrategy::kLessThanInitialShare || order > 0) {
      Spare(queue, &list->head());
      targets_.Drop(queue);
      return nullptr;
    }
    while (!list->empty()) {
      const HolderPtr* holder = list->Pop();
      const Share after =
          room_.Without(**holder, [side](const Usage& usage) { return ShareOf(usage, side); });
      if (Compare(mine, after) <= 0) return holder;
      Spare(queue, holder);
    }
    return nullptr;
  }

  // Remembers the first spared candidate of each queue: the second strategy takes at most one of a
  // queue.
  void Spare(NodeIndex queue, const HolderPtr* holder) { spared_.emplace(queue, holder); }

  // The second strategy: one more candidate of each queue whose share, as it stands, is above the
  // preemptor's.
  bool Second() {
    FairTargets targets(room_.usage(), own_);
    for (const auto& [queue, holder] : spared_) targets.Add(CandidateList(queue, {holder}));
    while (CandidateList* list = targets.Next()) {
      const NodeIndex queue = list->queue();
      const Share mine = ShareOf(room_.usage(), targets.PreemptorSide(queue));
      const Share theirs = ShareOf(room_.usage(), targets.SideOf(queue));
      const HolderPtr* holder = list->Pop();
      targets.Drop(queue);
      if (Compare(mine, theirs) >= 0) continue;
      if (TakeAndTest(*holder, Reason::kInCohortFairSharing)) return true;
    }
    return false;
  }

  const VictimQuery& query_;
  VictimRoom& room_;
  const QuotaTree& tree_;
  const NodeIndex own_;
  FairTargets targets_;
  std::map<NodeIndex, const HolderPtr*> spared_;  // by queue: what the first strategy left
};

}  // namespace

std::vector<Victim> FairVictims(const VictimQuery& query, VictimRoom* room) {
  return FairSearch(query, room).Run();
}

}  // namespace muster::core
