// Cycle: room on member clusters: where an entry runs, and whether evictions would make room for it
// at all. Kueue knows no members; nobody is evicted for one that no member could hold afterwards.
#include <algorithm>

#include "schedd/core/cycle_impl.h"
#include "schedd/model/requests.h"

namespace muster::core {
namespace {

constexpr const char* kYields =
    "Workload does not move to the flavor that a workload before it waits to run on";

}  // namespace

// On a member cluster. False if none has the room: then the verdict is given.
bool Cycle::Place(CycleEntry* entry, std::string* cluster) {
  if (room_.size() == 0 || (entry->second_pass && !entry->job->cluster.empty())) {
    *cluster = entry->job->cluster;
    return true;
  }
  if (entry->replaced != nullptr) return GrowInPlace(entry, cluster);
  const MemberFit& fit = FitOf(entry);
  std::size_t member = MemberFit::kNone;
  if (entry->machines.empty()) {
    member = fit.Pick(room_, entry->job->uid, input_.seed);
  } else {
    member = fit.PickNamed(room_, topology_.ClusterOf(*entry->job, *entry->admission));
  }
  if (member == MemberFit::kNone) {
    // Another flavor may be served by another member.
    TraceScan(entry);
    RefuseRoom(entry, fit.Refusal(room_));
    return false;
  }
  fit.Charge(&room_, member);
  *cluster = room_.member(member).facts->name;
  return true;
}

// A larger slice runs where the one runs that it replaces, which needs room for the pods that come
// to it alone.
bool Cycle::GrowInPlace(CycleEntry* entry, std::string* cluster) {
  const JobRecord& replaced = *entry->replaced->job;
  const Admission beyond = PodsBeyond(*entry->admission, *replaced.admission);
  PlacementDemand demand;
  demand.pod_sets = entry->job->pod_sets.get();
  demand.admission = &beyond;
  const MemberFit fit(config_, room_, demand);
  const bool same = entry->machines.empty() ||
                    topology_.ClusterOf(*entry->job, *entry->admission) == replaced.cluster;
  const std::size_t member = same ? fit.PickNamed(room_, replaced.cluster) : MemberFit::kNone;
  if (member == MemberFit::kNone) {
    Wait(entry->queue, Verdict(*entry, Reason::kWaitingForCapacity,
                               "member cluster " + replaced.cluster +
                                   ", which runs the job, has no room for more of its pods",
                               RequeueReason::kNoFit));
    return false;
  }
  fit.Charge(&room_, member);
  *cluster = replaced.cluster;
  return true;
}

const MemberFit& Cycle::FitOf(CycleEntry* entry) {
  auto& known = entry->of->fits;
  for (const auto& [admission, fit] : known) {
    if (admission == entry->admission) return *fit;
  }
  static const PodSets kNone;
  PlacementDemand demand;
  demand.pod_sets = entry->of->pod_sets ? entry->of->pod_sets.get() : &kNone;
  demand.admission = entry->admission.get();
  known.emplace_back(entry->admission, std::make_unique<MemberFit>(config_, room_, demand));
  return *known.back().second;
}

// Whatever is on its way out already is gone, whoever was evicted for it.
MemberRoom Cycle::RoomLeft() {
  if (!leaving_) {
    leaving_.emplace();
    const Holders& holders = HoldersBefore();
    const auto& tree = usage_.tree();
    for (NodeIndex queue = 0; queue < static_cast<NodeIndex>(tree.node_count()); ++queue) {
      if (!tree.node(queue).is_cluster_queue) continue;
      for (const HolderPtr& holder : holders.Of(queue)) {
        if (!holder->evicted) break;  // those come first
        AddAmounts(&(*leaving_)[holder->job->cluster], AmountsOf(*holder));
      }
    }
  }
  MemberRoom room = room_;
  for (const auto& [cluster, amounts] : *leaving_) room.Release(cluster, amounts);
  for (const HolderPtr& holder : preempted_) {
    if (!holder->evicted) room.Release(holder->job->cluster, AmountsOf(*holder));
  }
  return room;
}

ResourceList Cycle::AmountsOf(const Holder& holder) const {
  if (holder.job->pod_sets == nullptr) return {};
  return RequestsOf(*holder.job->pod_sets, ChargedAdmission(*holder.job, settings_).get());
}

// e: with its victims gone, and all that are on their way out. False if no member would have the
// room even so: then the verdict is given.
bool Cycle::RoomAfter(CycleEntry* entry) {
  if (room_.size() == 0 || entry->second_pass || entry->replaced != nullptr ||
      !entry->machines.empty()) {
    return true;  // machines were looked at with the victims gone
  }
  MemberRoom room = RoomLeft();
  for (const Victim& victim : entry->victims) {
    if (victim.holder->evicted || is_preempted_.contains(victim.holder->id)) continue;
    room.Release(victim.holder->job->cluster, AmountsOf(*victim.holder));
  }
  const AdmissionPtr admission = entry->assignment->ToAdmission(entry->queue->spec->name);
  PlacementDemand demand;
  demand.pod_sets = entry->job->pod_sets.get();
  demand.admission = admission.get();
  const MemberFit fit(config_, room_, demand);
  if (fit.Pick(room, entry->job->uid, input_.seed) != MemberFit::kNone) return true;
  PlacementChoice refusal = fit.Refusal(room);
  refusal.message += ", even without the jobs that it would preempt";
  RefuseRoom(entry, std::move(refusal));
  return false;
}

// l: a variant takes the place of its less favorable sibling. Not onto quota that one before it
// waits to use, which would evict it again. False if it stays: then the verdict is given.
bool Cycle::RoomToMove(CycleEntry* entry, const Holder& sibling) {
  if (room_.size() == 0) return true;
  MemberRoom room = RoomLeft();
  if (!sibling.evicted) room.Release(sibling.job->cluster, AmountsOf(sibling));
  const MemberFit& fit = FitOf(entry);
  const std::size_t member =
      entry->machines.empty()
          ? fit.Pick(room, entry->job->uid, input_.seed)
          : fit.PickNamed(room, topology_.ClusterOf(*entry->job, *entry->admission));
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

// True if its quota is what some before it in the queue have and only lack the room for.
bool Cycle::Yields(const CycleEntry& entry) {
  const NodeIndex queue = entry.queue->node;
  std::vector<Charges> of_others;
  for (const ShortOfRoom& one : entry.queue->short_of_room) {
    if (one.admission != nullptr && Before(*one.job, *entry.job, settings_))
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

// It is searched for anew, or admitted.
void Cycle::ForgetRoom(CycleQueue* queue, const JobRecord& job) {
  std::erase_if(queue->short_of_room,
                [&](const ShortOfRoom& one) { return one.job->id == job.id; });
}

// What its search finds of other flavors does not hide that it is short of room alone.
void Cycle::RefuseRoom(CycleEntry* entry, PlacementChoice refusal) {
  const bool has_quota = entry->mode == FlavorMode::kFit;
  entry->queue->short_of_room.push_back(
      {entry->job, has_quota ? entry->admission : nullptr, refusal.reason, refusal.message});
  Wait(entry->queue,
       Verdict(*entry, refusal.reason, std::move(refusal.message), RequeueReason::kNoFit));
}

}  // namespace muster::core
