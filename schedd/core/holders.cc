#include "schedd/core/holders.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {

Charges ChargesOf(const QuotaTree& tree, const Admission& admission) {
  Charges charges;
  for (const auto& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      const FlavorResourceIndex pair = tree.PairIndex(flavor, resource);
      if (pair < 0) continue;
      const auto at = std::lower_bound(
          charges.begin(), charges.end(), pair,
          [](const Charge& charge, FlavorResourceIndex wanted) { return charge.pair < wanted; });
      const std::int64_t amount = AmountOf(pod_set.usage, resource);
      if (at != charges.end() && at->pair == pair) {
        at->amount = SaturatingAdd(at->amount, amount);
      } else {
        charges.insert(at, {pair, amount});
      }
    }
  }
  return charges;
}

HolderPtr MakeHolder(const QuotaTree& tree, const AdmissionSettings& settings, JobPtr job) {
  auto holder = std::make_shared<Holder>();
  holder->uid = job->uid;
  holder->id = job->id;
  holder->queue = tree.ClusterQueueIndex(job->admission->cluster_queue);
  holder->charges = ChargesOf(tree, *ChargedAdmission(*job, settings));
  holder->priority = EffectivePriority(*job, settings);
  holder->queue_time = QueueTime(*job, settings);
  const Condition* reserved = FindCondition(*job, "QuotaReserved");
  // Without the condition it was reserved a moment ago.
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

void Holders::Put(HolderPtr holder) {
  Erase(holder->id);
  if (holder->queue < 0) return;
  by_id_[holder->id] = holder;
  by_queue_[static_cast<std::size_t>(holder->queue)].insert(std::move(holder));
}

void Holders::Erase(JobId id) {
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return;
  by_queue_[static_cast<std::size_t>(at->second->queue)].erase(at->second);
  by_id_.erase(at);
}

const HolderPtr* Holders::Find(JobId id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &at->second;
}

const HolderSet& Holders::Of(NodeIndex queue) const {
  static const HolderSet kNone;
  const auto at = static_cast<std::size_t>(queue);
  return at < by_queue_.size() ? by_queue_[at] : kNone;
}

}  // namespace muster::core
