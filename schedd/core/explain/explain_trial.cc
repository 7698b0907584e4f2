// Trial: changes a snapshot holder by holder. Usage, topology and sums are changed by addition and
// subtraction. Packing of machines cannot be undone, so a member's machines are computed anew from
// the base snapshot without the released holders. A released job whose pods were not bound to
// machines yet is taken off the list of starting jobs instead.
#include "schedd/core/explain/explain_trial.h"

#include <algorithm>
#include <set>

#include "schedd/base/quantity.h"
#include "schedd/core/member/placement.h"
#include "schedd/core/topology/machine_shape.h"
#include "schedd/core/topology/topology_usage.h"

namespace muster::core {

// Heads are emptied, so that Decide sees the job in question alone.
Trial::Trial(const Snapshot& base) : clusters_(base.clusters), snapshot_(base) {
  holders_ = base.holders != nullptr ? std::make_shared<Holders>(*base.holders)
                                     : std::make_shared<Holders>(base.usage.tree_ptr());
  snapshot_.holders = holders_;
  snapshot_.heads.clear();
  snapshot_.second_pass.clear();
}

void Trial::Release(const HolderPtr& holder) {
  holders_->Erase(holder->id);
  released_.push_back(holder);
  Count(*holder, false);
}

void Trial::Restore(const HolderPtr& holder) {
  holders_->Put(holder);
  std::erase_if(released_, [&](const HolderPtr& one) { return one->id == holder->id; });
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
    // Machines of topology aware scheduling.
    const TopologyCharges machines = ChargesOn(*forest, *job.pod_sets, *job.admission, job.cluster);
    if (held) {
      snapshot_.topology.Charge(machines);
    } else {
      snapshot_.topology.Release(machines);
    }
  }
  for (std::size_t i = 0; i < snapshot_.clusters.size(); ++i) {
    // Room on the member.
    ClusterView& cluster = snapshot_.clusters[i];
    if (cluster.member.name != job.cluster) continue;
    CountMachines(clusters_[i], &cluster);
    const ResourceList room = RequestsOf(*job.pod_sets, job.admission.get());
    for (auto& [resource, amount] : cluster.free) {
      const std::int64_t part = AmountOf(room, resource);
      amount = held ? SaturatingSub(amount, part) : SaturatingAdd(amount, part);
    }
  }
}

// The machines as they would be without the released holders.
void Trial::CountMachines(const ClusterView& base, ClusterView* cluster) const {
  if (base.member.machines == nullptr) return;
  MachineShape room(base.member.machines);
  std::set<JobId> unbound;
  for (const HolderPtr& holder : released_) {
    const JobRecord& job = *holder->job;
    if (job.cluster != base.member.name) continue;
    const auto& starting = base.starting;
    const auto starts = [&](const JobPtr& one) { return one->id == job.id; };
    // A job that is starting takes no machine in the declared groups yet.
    if (starting != nullptr && std::any_of(starting->begin(), starting->end(), starts)) {
      unbound.insert(job.id);
    } else if (job.pod_sets != nullptr) {
      const auto all = MachinePodsOf(*snapshot_.config, *job.pod_sets, job.admission.get());
      for (const MachinePods& pods : all) room.Release(room.Compile(pods));
    }
  }
  cluster->member.machines = std::make_shared<const MachineGroups>(room.Groups());
  cluster->starting = base.starting;
  if (unbound.empty()) return;
  // The others that are starting still take their room.
  auto left = *base.starting;
  std::erase_if(left, [&](const JobPtr& job) { return unbound.contains(job->id); });
  cluster->starting = std::make_shared<const std::vector<JobPtr>>(std::move(left));
}

// `keep_assignments`: explain reads the flavors that were considered.
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
