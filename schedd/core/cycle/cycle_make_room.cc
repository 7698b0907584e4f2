// Cycle: evictions for room on a member alone (rule P15). Kueue knows no members; its preemption
// policies say who may be evicted.
//
// Where a workload has quota and every member that may run it is full, the holders that its queue's
// policies let it evict make room on one member. MakeRoom is tried when the flavor search has come
// to its end, or on the first flavor with quota if `whenCanPreempt` is not TryNextFlavor. For each
// flavor on which the workload lacked room (RoomShortage), members are tried in the order of the
// placement: the first one that helps is taken if a placement governs the job, else the one that
// costs the fewest victims. Only holders on that member are candidates. Before a search, two cheap
// tests leave out most members: do the sums fit with all candidates gone, and do the machines?
//
// While room is being made for a workload, nobody else is evicted for it. It comes before all of
// its queue, and what its first victims leave is kept for it until the end of each round. A
// workload that only finds that others are leaving does not keep their room: their end may take for
// ever.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/cycle/room_probe.h"
#include "schedd/core/preempt/victim_room.h"
#include "schedd/model/requests.h"

namespace muster::core {
namespace {

constexpr const char* kRoomIsComing = ", and room is being made";

bool MayPreempt(const QueuePreemption& preemption) {
  return preemption.within_cluster_queue != PreemptionPolicy::kNever ||
         preemption.reclaim_within_cohort != PreemptionPolicy::kNever;
}

// True for topology aware flavors: for these, victims are found by the machines that they leave.
bool KnowsItsMachines(const Admission& admission) {
  return std::any_of(admission.pod_sets.begin(), admission.pod_sets.end(),
                     [](const PodSetAssignment& pods) { return pods.topology != nullptr; });
}

// Fewer victims are better, then a lower highest priority.
std::tuple<std::size_t, std::int64_t> CostOf(const std::vector<Victim>& victims) {
  std::int64_t highest = 0;
  for (const Victim& victim : victims) {
    const bool first = &victim == &victims.front();
    highest = first ? victim.holder->priority : std::max(highest, victim.holder->priority);
  }
  return {victims.size(), highest};
}

}  // namespace

// Tries the flavors that had quota and lacked room, in the order of the search. True if the
// workload waits for its victims: then its verdict is given.
bool Cycle::MakeRoom(CycleEntry* entry) {
  const ClusterQueue& spec = *entry->queue->spec;
  if (room_.size() == 0 || entry->second_pass || entry->replaced != nullptr) return false;
  if (!MayPreempt(spec.preemption) || entry->queue->short_of_room.empty()) return false;
  const auto last = Verdict(*entry, Reason::kNone, "", RequeueReason::kNoFit).last;
  const bool goes_on = last != nullptr && last->Pending();
  if (goes_on && spec.when_can_preempt == FungibilityPolicy::kTryNextFlavor) return false;
  for (const RoomShortage& noted : entry->queue->short_of_room) {
    if (noted.job->id != entry->job->id || noted.admission == nullptr) continue;
    if (noted.reason != Reason::kWaitingForCapacity || KnowsItsMachines(*noted.admission)) continue;
    const CycleFit* known = NotedFit(*entry, noted);
    if (known == nullptr) continue;
    const MemberRoom left = RoomLeft();
    // Enough room is being freed already, so nobody is evicted. Only the workload whose victims
    // free it keeps it from others.
    const std::size_t coming = known->fit->Pick(left, entry->job->uid, input_.seed);
    if (coming != MemberFit::kNone) {
      if (!entry->rank.preemptor) return false;
      entry->machines = {};
      KeepFromOthers(*entry, ChargesOf(usage_.tree(), *noted.admission));
      KeepRoom(*known->fit, coming);
      UnadmittedWorkload verdict =
          Verdict(*entry, Reason::kWaitingForPreemptedWorkloads, noted.message + kRoomIsComing,
                  RequeueReason::kPendingPreemption);
      verdict.last.reset();
      Wait(entry->queue, std::move(verdict));
      return true;
    }
    if (PreemptForRoom(entry, noted, *known, left)) return true;
  }
  return false;
}

// The comparison with the members in which the shortage was found; null if the quota is gone since.
// Workloads of the class that wait for other cluster groups have another one.
const CycleFit* Cycle::NotedFit(const CycleEntry& entry, const RoomShortage& noted) {
  const PlacementAsk ask = AskOf(entry);
  const std::int64_t next_group =
      ask.placement == nullptr ? -1 : NextGroupAfter(ask.placement->policy, ask.waited_s);
  const auto& fits = entry.of->fits;
  const auto known = std::find_if(fits.begin(), fits.end(), [&](const auto& one) {
    return one->admission == noted.admission && one->next_group == next_group;
  });
  if (known == fits.end()) return nullptr;
  const Usage& usage = without_victims_ ? *without_victims_ : usage_;
  const Charges wants = ChargesOf(usage_.tree(), *noted.admission);
  const bool quota = std::all_of(wants.begin(), wants.end(), [&](const Charge& charge) {
    return usage.Fits(entry.queue->node, charge.pair, charge.amount);
  });
  return quota ? known->get() : nullptr;
}

// True if victims were found and the entry's verdict is given.
bool Cycle::PreemptForRoom(CycleEntry* entry, const RoomShortage& noted, const CycleFit& known,
                           const MemberRoom& left) {
  const Charges wants = ChargesOf(usage_.tree(), *noted.admission);
  auto victims = VictimsFor(*entry, wants, known, left);
  if (victims.empty()) return false;
  if (WaitsForGate(*entry)) return true;
  entry->victims = std::move(victims);
  entry->choice = nullptr;
  entry->adds = wants;
  entry->machines = {};
  entry->mode = FlavorMode::kPreempt;
  const std::string& member = entry->victims.front().holder->job->cluster;
  for (std::size_t i = 0; i < room_.size(); ++i) {
    if (room_.member(i).facts->name == member) KeepRoom(*known.fit, i);
  }
  Preempt(entry, noted.message);
  return true;
}

// Keeps room until the end of the round, as is done with quota. Victims leave one by one, and a
// workload that took what the first one left would have to be evicted in turn.
void Cycle::KeepRoom(const MemberFit& fit, std::size_t member) {
  if (!unreserved_) unreserved_ = room_;
  fit.Charge(&room_, member);
}

// Takes room for an admission.
void Cycle::TakeRoom(const MemberFit& fit, std::size_t member) {
  fit.Charge(&room_, member);
  if (unreserved_) fit.Charge(&*unreserved_, member);
}

// The victims on the member that the placement scores highest, of those where evictions help; on
// the cheapest one if no placement governs the job.
std::vector<Victim> Cycle::VictimsFor(const CycleEntry& entry, const Charges& wants,
                                      const CycleFit& known, const MemberRoom& left) {
  const std::int64_t highest = HighestVictim(entry);
  if (!HasCandidates(entry, highest)) return {};
  std::vector<FlavorResourceIndex> pairs;
  for (const Charge& charge : wants) pairs.push_back(charge.pair);
  std::optional<Usage> usage;
  MemberRoom most = left;
  const MemberOrder order =
      OrderMembers(room_, MemberDemandOf(*entry.job, known.admission.get(), &known.ask));
  std::vector<Victim> best;
  for (const std::string& member : order.members) {
    const MemberHolders* on = StandingOn(member);
    if (on == nullptr) continue;
    const auto above = on->freed.upper_bound(highest);
    if (above == on->freed.begin()) continue;
    most.Release(member, std::prev(above)->second);
    if (!known.fit->SumsFit(most, member)) continue;
    RoomProbe probe(
        left, *known.fit,
        [this](const Holder& holder) { return ChargedAdmission(*holder.job, settings_); }, member);
    if (!MachinesAfter(*on, highest, &probe)) continue;
    if (!usage) usage = UsageLeft();
    const Holders holders = Evictable(entry, *on);
    VictimSearch search(settings_, holders, &*usage, snapshot_.local_usages.get());
    auto victims = search.Find(entry.preemptor, wants, pairs, &probe);
    if (victims.empty()) continue;
    if (known.ask.placement != nullptr) return victims;
    if (best.empty() || CostOf(victims) < CostOf(best)) best = std::move(victims);
  }
  return best;
}

// True if holders of other queues may be evicted for room. Not under fair sharing: shares decide
// who may have quota, not who may have a member, and a borrower that is evicted for room alone
// might win it back for ever.
bool Cycle::ReclaimsRoom(const CycleEntry& entry) const {
  return !settings_.fair_sharing &&
         entry.queue->spec->preemption.reclaim_within_cohort != PreemptionPolicy::kNever;
}

// The holders of the member that are candidates at all.
Holders Cycle::Evictable(const CycleEntry& entry, const MemberHolders& on) const {
  if (ReclaimsRoom(entry)) return on.holders;
  static const Holders kNobody;
  Holders own = Holders::Over(kNobody);
  for (const HolderPtr& holder : on.all)
    if (holder->queue == entry.queue->node) own.Put(holder);
  return own;
}

// The highest priority that the entry may evict for room.
std::int64_t Cycle::HighestVictim(const CycleEntry& entry) const {
  const QueuePreemption& policy = entry.queue->spec->preemption;
  const std::int64_t own = HighestEvictable(entry.preemptor, policy.within_cluster_queue);
  if (!ReclaimsRoom(entry)) return own;
  return std::max(own, HighestEvictable(entry.preemptor, policy.reclaim_within_cohort));
}

// A quick test that may be wrong only in saying true: most waiting workloads have no higher
// priority than the holders.
bool Cycle::HasCandidates(const CycleEntry& entry, std::int64_t highest) const {
  const NodeIndex queue = entry.queue->node;
  if (ReclaimsRoom(entry) && usage_.tree().node(queue).parent >= 0) return true;
  const HolderSet& own = HoldersBefore().Of(queue);
  const auto first = own.lower_bound(HolderOrder::FirstNotEvicted{});
  return first != own.end() && (*first)->priority <= highest;
}

// True if the member's machines could hold the entry with all candidates gone. A search would ask
// after each victim, so this is asked once before.
bool Cycle::MachinesAfter(const MemberHolders& on, std::int64_t highest, RoomProbe* probe) {
  for (const HolderPtr& holder : on.all) {
    if (holder->priority <= highest) probe->Remove(*holder);
  }
  const bool fits = probe->Fits();
  for (const HolderPtr& holder : on.all) probe->Restore(*holder);
  return fits;
}

// The holders on a member that nobody has evicted; victims of this round are left out. Null if
// there are none. Computed at the first call of a plan, then kept up to date with preempted_.
const Cycle::MemberHolders* Cycle::StandingOn(const std::string& member) {
  static const Holders kNobody;
  if (!standing_) {
    standing_.emplace();
    const Holders& holders = HoldersBefore();
    const auto& tree = usage_.tree();
    for (NodeIndex queue = 0; queue < static_cast<NodeIndex>(tree.node_count()); ++queue) {
      const HolderSet& of = holders.Of(queue);
      for (auto at = of.lower_bound(HolderOrder::FirstNotEvicted{}); at != of.end(); ++at) {
        const HolderPtr& holder = *at;
        if (holder->job->cluster.empty() || is_preempted_.contains(holder->id)) continue;
        const auto [on, fresh] = standing_->try_emplace(holder->job->cluster);
        if (fresh) on->second.holders = Holders::Over(kNobody);
        on->second.holders.Put(holder);
        on->second.all.push_back(holder);
        AddAmounts(&on->second.freed[holder->priority], AmountsOf(*holder));
      }
    }
    for (auto& [name, on] : *standing_) {
      const ResourceList* below = nullptr;
      for (auto& [priority, amounts] : on.freed) {
        if (below != nullptr) AddAmounts(&amounts, *below);
        below = &amounts;
      }
    }
    standing_without_ = preempted_.size();
  }
  for (; standing_without_ < preempted_.size(); ++standing_without_) {
    const Holder& gone = *preempted_[standing_without_];
    const auto on = standing_->find(gone.job->cluster);
    if (on == standing_->end()) continue;
    on->second.holders.Erase(gone.id);
    std::erase_if(on->second.all, [&](const HolderPtr& one) { return one->id == gone.id; });
  }
  const auto found = standing_->find(member);
  return found == standing_->end() ? nullptr : &found->second;
}

// The usage without all holders that are being stopped.
Usage Cycle::UsageLeft() {
  Usage usage = without_victims_ ? *without_victims_ : usage_;
  for (const auto& [cluster, on] : *leaving_) {
    for (const HolderPtr& holder : on.holders) {
      if (is_preempted_.contains(holder->id)) continue;
      for (const Charge& charge : holder->charges)
        usage.Remove(holder->queue, charge.pair, charge.amount);
    }
  }
  return usage;
}

}  // namespace muster::core
