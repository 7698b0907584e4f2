// Cycle: room on member clusters (rules P11 to P15): where an entry runs, and whether evictions
// would make room for it at all. Kueue knows no members, so these rules are Muster's own:
//
//   - Quota is never reserved for a workload that no member can hold; it goes on with its next
//     flavor and its message says both in the end.
//   - Nobody is evicted, or moved to a better flavor, for a workload that no member could hold with
//     the victims and all holders that are being stopped gone (RoomAfter, RoomToMove).
//   - If the victims that quota alone would take leave no room on any member, those are searched
//     for that do (MoveVictims).
//   - A variant does not move onto quota that a workload before it in its queue has and only lacks
//     the room for, because that one would evict it again (Yields).
#include <algorithm>

#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/cycle/room_probe.h"
#include "schedd/model/requests.h"

namespace muster::core {
namespace {

constexpr const char* kYields =
    "Workload does not move to the flavor that a workload before it waits to run on";

}  // namespace

// Chooses the member and takes its room. False if no member has room; then the verdict is given.
bool Cycle::Place(CycleEntry* entry, core::PlannedAdmission* admit) {
  if (room_.size() == 0 || (entry->second_pass && !entry->job->cluster.empty())) {
    admit->cluster = entry->job->cluster;
    return true;
  }
  if (entry->replaced != nullptr) return GrowInPlace(entry, &admit->cluster);
  const CycleFit& known = FitOf(*entry);
  MemberScore score;
  const std::size_t member = entry->machines.empty()
                                 ? known.fit->Pick(room_, entry->job->uid, input_.seed, &score)
                                 : known.fit->PickNamed(room_, MachinesOn(*entry), &score);
  if (member == MemberFit::kNone) {
    // Another flavor may be on another member, so the search is to go on behind this one.
    TraceScan(entry);
    NoteRoom(*entry, known.fit->Refusal(room_));
    if (!MakeRoom(entry)) WaitForRoom(entry);
    return false;
  }
  TakeRoom(*known.fit, member);
  admit->cluster = room_.member(member).facts->name;
  if (const Placement* placement = known.ask.placement.get(); placement != nullptr) {
    admit->placed = PickedSentence(admit->cluster, score);
    if (!placement->policy.spread.empty()) {
      ++(*placed_)[{placement->ns, placement->name}][admit->cluster];
    }
  }
  return true;
}

// A larger slice stays on the member of the slice that it replaces, and needs room for the
// additional pods alone.
bool Cycle::GrowInPlace(CycleEntry* entry, std::string* cluster) {
  const JobRecord& replaced = *entry->replaced->job;
  const Admission beyond = PodsBeyond(*entry->admission, *replaced.admission);
  const PlacementAsk ask = AskOf(*entry);
  PlacementDemand demand = MemberDemandOf(*entry->job, &beyond, &ask);
  demand.in_place = true;
  const MemberFit fit(config_, room_, demand);
  const bool same = entry->machines.empty() || MachinesOn(*entry) == replaced.cluster;
  const std::size_t member = same ? fit.PickNamed(room_, replaced.cluster) : MemberFit::kNone;
  if (member == MemberFit::kNone) {
    Wait(entry->queue, Verdict(*entry, Reason::kWaitingForCapacity,
                               "member cluster " + replaced.cluster +
                                   ", which runs the job, has no room for more of its pods",
                               RequeueReason::kNoFit));
    return false;
  }
  TakeRoom(fit, member);
  *cluster = replaced.cluster;
  return true;
}

// The comparison of the entry's admission with the members, shared by the workloads of its class
// that may use the same cluster groups.
const CycleFit& Cycle::FitOf(const CycleEntry& entry) {
  auto& known = entry.of->fits;
  PlacementAsk ask = AskOf(entry);
  const std::int64_t next_group =
      ask.placement == nullptr ? -1 : NextGroupAfter(ask.placement->policy, ask.waited_s);
  for (const auto& one : known) {
    if (one->admission == entry.admission && one->next_group == next_group) return *one;
  }
  static const PodSets kNone;
  CycleFit& made = *known.emplace_back(std::make_unique<CycleFit>());
  made.admission = entry.admission;
  made.next_group = next_group;
  made.ask = std::move(ask);
  PlacementDemand demand = MemberDemandOf(*entry.job, entry.admission.get(), &made.ask);
  demand.pod_sets = entry.of->pod_sets ? entry.of->pod_sets.get() : &kNone;
  made.fit = std::make_unique<MemberFit>(config_, room_, demand);
  return made;
}

PlacementAsk Cycle::AskOf(const CycleEntry& entry) const {
  if (!entry.of->asks) return {};
  return core::AskOf(config_, settings_, *entry.job, snapshot_.now);
}

// `ask` must outlive everything that is made of the demand.
PlacementDemand Cycle::MemberDemandOf(const JobRecord& job, const Admission* admission,
                                      const PlacementAsk* ask) {
  PlacementDemand demand;
  demand.pod_sets = job.pod_sets.get();
  demand.admission = admission;
  demand.ask = ask;
  demand.kind = KindOnMember(job);
  if (ask->placement != nullptr && !ask->placement->policy.spread.empty()) {
    if (!placed_) placed_ = snapshot_.placed != nullptr ? *snapshot_.placed : PlacedCounts();
    demand.placed = &*placed_;
  }
  return demand;
}

// The member whose machines were found for the entry's pods.
std::string Cycle::MachinesOn(const CycleEntry& entry) const {
  const bool found = entry.assignment != nullptr && !entry.assignment->cluster.empty();
  return found ? entry.assignment->cluster : topology_.ClusterOf(*entry.job, *entry.admission);
}

// The members on which the placer may look for machines, best first; null: all, by name. The order
// is kept while no workload is admitted, because a search asks for it many times.
const MemberOrder* Cycle::MembersFor(const JobRecord& job) {
  if (order_ && order_of_ == job.id && order_after_ == plan_.admits.size()) return &*order_;
  bool kinds = false;
  for (std::size_t i = 0; i < room_.size(); ++i) {
    kinds = kinds || room_.member(i).facts->kinds != nullptr;
  }
  const PlacementAsk ask = core::AskOf(config_, settings_, job, snapshot_.now);
  if (room_.size() == 0 || (ask.empty() && !kinds)) return nullptr;
  order_ = OrderMembers(room_, MemberDemandOf(job, nullptr, &ask));
  order_of_ = job.id;
  order_after_ = plan_.admits.size();
  return &*order_;
}

// The room once all holders that are being stopped are gone, those evicted before and the round's
// victims.
MemberRoom Cycle::RoomLeft() {
  if (!leaving_) {
    leaving_.emplace();
    const Holders& holders = HoldersBefore();
    const auto& tree = usage_.tree();
    for (NodeIndex queue = 0; queue < static_cast<NodeIndex>(tree.node_count()); ++queue) {
      if (!tree.node(queue).is_cluster_queue) continue;
      for (const HolderPtr& holder : holders.Of(queue)) {
        // Evicted holders are first in the order.
        if (!holder->evicted) break;
        LeavingHolders& on = (*leaving_)[holder->job->cluster];
        AddAmounts(&on.amounts, AmountsOf(*holder));
        on.holders.push_back(holder);
      }
    }
  }
  MemberRoom room = room_;
  for (const auto& [cluster, on] : *leaving_) {
    room.Release(cluster, on.amounts);
    for (const HolderPtr& holder : on.holders) LeaveMachines(*holder, &room);
  }
  for (const HolderPtr& holder : preempted_) {
    if (!holder->evicted) Leave(*holder, &room);
  }
  return room;
}

// Gives the holder's room back: sums and pods on machines.
void Cycle::Leave(const Holder& holder, MemberRoom* room) const {
  room->Release(holder.job->cluster, AmountsOf(holder));
  LeaveMachines(holder, room);
}

void Cycle::LeaveMachines(const Holder& holder, MemberRoom* room) const {
  room->ReleasePods(holder.job->cluster, holder.job->pod_sets,
                    ChargedAdmission(*holder.job, settings_));
}

ResourceList Cycle::AmountsOf(const Holder& holder) const {
  if (holder.job->pod_sets == nullptr) return {};
  return RequestsOf(*holder.job->pod_sets, ChargedAdmission(*holder.job, settings_).get());
}

// Replaces the victims by others that leave room on a member, if the entry's victims leave none and
// there are others.
void Cycle::MoveVictims(CycleEntry* entry, const FindVictims& find) {
  if (room_.size() == 0 || entry->second_pass || entry->replaced != nullptr) return;
  const AdmissionPtr admission = entry->assignment->ToAdmission(entry->queue->spec->name);
  const PlacementAsk ask = AskOf(*entry);
  const MemberFit fit(config_, room_, MemberDemandOf(*entry->job, admission.get(), &ask));
  RoomProbe probe(RoomLeft(), fit, [this](const Holder& holder) {
    return ChargedAdmission(*holder.job, settings_);
  });
  if (probe.FitsWithout(entry->victims)) return;
  auto victims = find(&probe);
  if (!victims.empty()) entry->victims = std::move(victims);
}

// True if some member has room with the entry's victims and all holders that are being stopped
// gone. If not, the verdict is given.
bool Cycle::RoomAfter(CycleEntry* entry) {
  if (room_.size() == 0 || entry->second_pass || entry->replaced != nullptr ||
      !entry->machines.empty()) {
    // The search on machines has looked at members already.
    return true;
  }
  MemberRoom room = RoomLeft();
  for (const Victim& victim : entry->victims) {
    if (victim.holder->evicted || is_preempted_.contains(victim.holder->id)) continue;
    Leave(*victim.holder, &room);
  }
  const AdmissionPtr admission = entry->assignment->ToAdmission(entry->queue->spec->name);
  const PlacementAsk ask = AskOf(*entry);
  const MemberFit fit(config_, room_, MemberDemandOf(*entry->job, admission.get(), &ask));
  if (fit.Pick(room, entry->job->uid, input_.seed) != MemberFit::kNone) return true;
  PlacementChoice refusal = fit.Refusal(room);
  refusal.message += ", even without the jobs that it would preempt";
  RefuseRoom(entry, std::move(refusal));
  return false;
}

// True if a variant may take the place of its sibling on a worse flavor: some member has room with
// the sibling gone, and the quota is not that of a workload before it. If not, the verdict is
// given.
bool Cycle::RoomToMove(CycleEntry* entry, const Holder& sibling) {
  if (room_.size() == 0) return true;
  MemberRoom room = RoomLeft();
  if (!sibling.evicted) Leave(sibling, &room);
  const MemberFit& fit = *FitOf(*entry).fit;
  const std::size_t member = entry->machines.empty() ? fit.Pick(room, entry->job->uid, input_.seed)
                                                     : fit.PickNamed(room, MachinesOn(*entry));
  if (member == MemberFit::kNone) {
    TraceScan(entry);
    RefuseRoom(entry, fit.Refusal(room));
    return false;
  }
  if (!Yields(*entry)) return true;
  TraceScan(entry);
  Wait(entry->queue, Verdict(*entry, Reason::kWaitingForCapacity, kYields, RequeueReason::kNoFit));
  return false;
}

// True if the entry's quota is what workloads before it in the queue have and only lack the room
// for.
bool Cycle::Yields(const CycleEntry& entry) {
  const NodeIndex queue = entry.queue->node;
  std::vector<Charges> of_others;
  for (const RoomShortage& one : entry.queue->short_of_room) {
    if (one.admission != nullptr && Before(*one.job, *entry.job, config_, settings_))
      of_others.push_back(ChargesOf(usage_.tree(), *one.admission));
  }
  for (const Charges& charges : of_others) {
    for (const Charge& charge : charges) usage_.Add(queue, charge.pair, charge.amount);
  }
  const auto adds = entry.Adds();
  const bool fits = std::all_of(adds.begin(), adds.end(), [&](const Charge& charge) {
    return usage_.Fits(queue, charge.pair, charge.amount);
  });
  for (const Charges& charges : of_others) {
    for (const Charge& charge : charges) usage_.Remove(queue, charge.pair, charge.amount);
  }
  return !fits;
}

// Drops the shortages of a workload that is searched anew, or admitted.
void Cycle::ForgetRoom(CycleQueue* queue, const JobRecord& job) {
  std::erase_if(queue->short_of_room,
                [&](const RoomShortage& one) { return one.job->id == job.id; });
}

// Notes the shortage and gives the verdict.
void Cycle::RefuseRoom(CycleEntry* entry, PlacementChoice refusal) {
  NoteRoom(*entry, std::move(refusal));
  WaitForRoom(entry);
}

// Remembers that the entry lacks room on this flavor; later flavors do not replace it in the
// message.
void Cycle::NoteRoom(const CycleEntry& entry, PlacementChoice refusal) {
  const bool has_quota = entry.mode == FlavorMode::kFit;
  entry.queue->short_of_room.push_back({entry.job, has_quota ? entry.admission : nullptr,
                                        refusal.reason, std::move(refusal.message)});
}

// Gives the verdict for the shortage that was noted last.
void Cycle::WaitForRoom(CycleEntry* entry) {
  const RoomShortage& noted = entry->queue->short_of_room.back();
  Wait(entry->queue, Verdict(*entry, noted.reason, noted.message, RequeueReason::kNoFit));
}

}  // namespace muster::core
