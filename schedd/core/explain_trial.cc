#include "schedd/core/explain_trial.h"

#include "schedd/base/quantity.h"
#include "schedd/core/placement.h"
#include "schedd/core/topology_usage.h"

namespace muster::core {

Trial::Trial(const Snapshot& base) : snapshot_(base) {
  holders_ = base.holders != nullptr ? std::make_shared<Holders>(*base.holders)
                                     : std::make_shared<Holders>(base.usage.tree_ptr());
  snapshot_.holders = holders_;
  snapshot_.heads.clear();
  snapshot_.second_pass.clear();
}

void Trial::Release(const HolderPtr& holder) {
  holders_->Erase(holder->id);
  Count(*holder, false);
}

void Trial::Restore(const HolderPtr& holder) {
  holders_->Put(holder);
  Count(*holder, true);
}

void Trial::Count(const Holder& holder, bool held) {
  for (const Charge& charge : holder.charges) {
    if (held) {
      snapshot_.usage.Add(holder.queue, charge.pair, charge.amount);
    } else {
      snapshot_.usage.Remove(holder.queue, charge.pair, charge.amount);
    }
  }
  const JobRecord& job = *holder.job;
  if (job.pod_sets == nullptr || job.admission == nullptr) return;
  if (const TopologyForestPtr& forest = snapshot_.topology.forest(); forest != nullptr) {
    const TopologyCharges machines = ChargesOn(*forest, *job.pod_sets, *job.admission, job.cluster);
    if (held) {
      snapshot_.topology.Charge(machines);
    } else {
      snapshot_.topology.Release(machines);
    }
  }
  for (ClusterView& cluster : snapshot_.clusters) {
    if (cluster.member.name != job.cluster) continue;
    const ResourceList room = RequestsOf(*job.pod_sets, job.admission.get());
    for (auto& [resource, amount] : cluster.free) {
      const std::int64_t part = AmountOf(room, resource);
      amount = held ? SaturatingSub(amount, part) : SaturatingAdd(amount, part);
    }
  }
}

Plan Trial::Ask(const JobPtr& job) {
  QueueHeads heads;
  heads.cluster_queue = job->cluster_queue;
  heads.jobs = {job};
  snapshot_.heads = {heads};
  CycleInput input;
  input.keep_assignments = true;
  return Decide(snapshot_, input);
}

}  // namespace muster::core
