// Holders: the workloads that hold quota, sorted so that a search for victims can stop early.
//
// Each ClusterQueue has one ordered set. Its order (TakenBefore) puts the evicted holders first and
// then the lowest priorities, so a search reads the set from its beginning and stops at the first
// priority that the preemption policy protects.
//
// A cycle admits and evicts on a layer over the snapshot's holders (Over): a changed queue is
// copied once, all others are read from the base. `by_id_` of a layer has only what differs from
// the base.
#include "schedd/core/quota/holders.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"

namespace muster::core {

void AddCharge(FlavorResourceIndex pair, std::int64_t amount, Charges* charges) {
  if (pair < 0) return;
  const auto at = std::lower_bound(
      charges->begin(), charges->end(), pair,
      [](const Charge& charge, FlavorResourceIndex wanted) { return charge.pair < wanted; });
  if (at != charges->end() && at->pair == pair) {
    at->amount = SaturatingAdd(at->amount, amount);
  } else {
    charges->insert(at, {pair, amount});
  }
}

Charges ChargesOf(const QuotaTree& tree, const Admission& admission) {
  Charges charges;
  for (const auto& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors)
      AddCharge(tree.PairIndex(flavor, resource), AmountOf(pod_set.usage, resource), &charges);
  }
  return charges;
}

// The charge is what quota counts (ChargedAdmission), which may be less than the admission.
HolderPtr MakeHolder(const QuotaTree& tree, const AdmissionSettings& settings, JobPtr job) {
  auto holder = std::make_shared<Holder>();
  holder->uid = job->uid;
  holder->id = job->id;
  holder->queue = tree.ClusterQueueIndex(job->admission->cluster_queue);
  holder->charges = ChargesOf(tree, *ChargedAdmission(*job, settings));
  holder->priority = EffectivePriority(*job, settings);
  holder->queue_time = QueueTime(*job, settings);
  const Condition* reserved = FindCondition(*job, "QuotaReserved");
  // Without the condition the reservation is of this cycle, and its time is the admission's.
  holder->reserved_at =
      reserved != nullptr && reserved->status ? reserved->last_transition : job->admit_time;
  holder->evicted = IsTrue(*job, "Evicted");
  holder->job = std::move(job);
  return holder;
}

bool TakenBefore(const Holder& a, const Holder& b) {
  if (a.evicted != b.evicted) return a.evicted;
  if (a.priority != b.priority) return a.priority < b.priority;
  if (a.reserved_at != b.reserved_at) return a.reserved_at > b.reserved_at;
  if (a.uid != b.uid) return a.uid < b.uid;
  return a.id < b.id;
}

Holders::Holders(QuotaTreePtr tree) : by_queue_(tree->node_count()) {}

Holders Holders::Over(const Holders& base) {
  Holders layer;
  layer.base_ = &base;
  layer.size_ = base.size_;
  return layer;
}

HolderSet* Holders::Own(NodeIndex queue) {
  if (base_ == nullptr) return &by_queue_[static_cast<std::size_t>(queue)];
  const auto found = touched_.find(queue);
  if (found != touched_.end()) return &found->second;
  return &touched_.emplace(queue, base_->Of(queue)).first->second;
}

void Holders::Put(HolderPtr holder) {
  Erase(holder->id);
  if (holder->queue < 0) return;
  ++size_;
  by_id_[holder->id] = holder;
  Own(holder->queue)->insert(std::move(holder));
}

// In a layer a null entry hides the base's holder.
void Holders::Erase(JobId id) {
  const HolderPtr* found = Find(id);
  if (found == nullptr) return;
  const HolderPtr holder = *found;
  --size_;
  Own(holder->queue)->erase(holder);
  if (base_ != nullptr && base_->Find(id) != nullptr) {
    by_id_[id] = nullptr;
  } else {
    by_id_.erase(id);
  }
}

const HolderPtr* Holders::Find(JobId id) const {
  const auto at = by_id_.find(id);
  if (at != by_id_.end()) return at->second == nullptr ? nullptr : &at->second;
  return base_ == nullptr ? nullptr : base_->Find(id);
}

const HolderSet& Holders::Of(NodeIndex queue) const {
  static const HolderSet kNone;
  if (base_ != nullptr) {
    const auto found = touched_.find(queue);
    return found == touched_.end() ? base_->Of(queue) : found->second;
  }
  const auto at = static_cast<std::size_t>(queue);
  return at < by_queue_.size() ? by_queue_[at] : kNone;
}

}  // namespace muster::core
