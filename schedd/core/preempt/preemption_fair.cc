#include "schedd/core/preempt/preemption_fair.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedd/base/quantity.h"
#include "schedd/core/preempt/fair_targets.h"

namespace muster::core {
namespace {

constexpr FairStrategy kDefault = FairStrategy::kLessThanOrEqualToFinalShare;

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
    // No list is Kueue's default: both.
    const bool second = strategies.size() != 1;
    const bool found =
        First(strategies.empty() ? kDefault : strategies.front()) || (second && Second());
    room_.RetractPreemptor();
    if (found) return room_.Settle(true);
    room_.Restore();
    return {};
  }

 private:
  // A sum that saturated could not be given back.
  bool CanAssume() const {
    for (const Charge& charge : query_.requests) {
      for (NodeIndex at = own_; at >= 0; at = tree_.node(at).parent) {
        const std::int64_t used = room_.usage().At(at, charge.pair);
        if (SaturatingAdd(used, charge.amount) == kUnlimited) return false;
      }
    }
    return true;
  }

  // Own candidates, and those of every queue of the tree that borrows a contested pair. False if
  // there are none.
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

  bool TakeAndTest(const HolderPtr& holder, Reason reason) {
    room_.Take(holder, reason);
    if (room_.StillLacks()) return false;
    room_.RetractPreemptor();
    const bool fits = room_.Fits(true);
    room_.AssumePreemptor();
    return fits;
  }

  // True once the preemptor fits. Candidates that the strategy protects are spared.
  bool First(FairStrategy strategy) {
    // What is its own by nominal quota it may have back whatever the shares are.
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

  // The first candidate of `list` that the strategy gives away; null if none.
  const HolderPtr* Choose(FairStrategy strategy, CandidateList* list) {
    const NodeIndex queue = list->queue();
    const NodeIndex side = targets_.SideOf(queue);
    const Share mine = ShareOf(room_.usage(), targets_.PreemptorSide(queue));
    const int order = Compare(mine, ShareOf(room_.usage(), side));
    if (strategy == FairStrategy::kLessThanInitialShare && order < 0) return list->Pop();
    // No candidate could pass: without one the share of its side is not above what it is now.
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

  // The second strategy takes at most one of a queue: the first that was spared.
  void Spare(NodeIndex queue, const HolderPtr* holder) { spared_.emplace(queue, holder); }

  // One more candidate of each queue whose share is above the preemptor's as it stands.
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
  std::map<NodeIndex, const HolderPtr*> spared_;  // by the first strategy; the first of each queue
};

}  // namespace

std::vector<Victim> FairVictims(const VictimQuery& query, VictimRoom* room) {
  return FairSearch(query, room).Run();
}

}  // namespace muster::core
