// Keeps usage, holders, machines and members' room up to date job by job: Charge subtracts what a
// job holds and remembers it, GiveBack adds exactly that again. So the sums never drift, and a
// snapshot costs no recomputation. Members declare their machines in the configuration; the room of
// a member is its allocatable amount minus what other pods use there.
#include "schedd/simulate/amounts.h"

#include "schedd/base/quantity.h"
#include "schedd/core/member/placement.h"
#include "schedd/core/topology/member_machines.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"

namespace muster::simulate {

Amounts::Amounts(ConfigPtr config, AdmissionSettingsPtr settings)
    : config_(std::move(config)),
      settings_(std::move(settings)),
      usage_(core::QuotaTree::Build(*config_)),
      holders_(usage_.tree_ptr()) {
  std::vector<MemberCluster> members;
  for (const auto& [name, member] : config_->member_clusters) {
    cluster_of_.emplace(name, clusters_.size());
    core::ClusterView& view = clusters_.emplace_back();
    view.member = member;
    view.free = member.allocatable;
    for (ResourceAmount& one : view.free)
      one.amount = SaturatingSub(one.amount, AmountOf(member.used_by_others, one.resource));
    members.push_back(member);
  }
  forest_ = core::ForestOf(*config_, std::move(members), *settings_);
  if (forest_ != nullptr) machines_ = core::TopologyUsage(forest_);
}

// A record with the same admission changes only the holder (its conditions, its priority).
void Amounts::Put(const JobPtr& job) {
  const auto [entry, fresh] = held_.try_emplace(job->id);
  if (fresh || entry->second.admission != job->admission) {
    if (!fresh) GiveBack(entry->second);
    Charge(*job, &entry->second);
  }
  holders_.Put(core::MakeHolder(usage_.tree(), *settings_, job));
}

void Amounts::Erase(JobId id) {
  const auto found = held_.find(id);
  if (found == held_.end()) return;
  GiveBack(found->second);
  held_.erase(found);
  holders_.Erase(id);
}

// Quota is charged without the pods that were given back; machines and room with all pods of the
// admission.
void Amounts::Charge(const JobRecord& job, HeldAmounts* held) {
  held->admission = job.admission;
  held->charged = ChargedAdmission(job, *settings_);
  usage_.Add(*held->charged);
  if (forest_ != nullptr) {
    held->machines = core::ChargesOn(*forest_, *job.pod_sets, *job.admission, job.cluster);
    machines_.Charge(held->machines);
  }
  const auto member = cluster_of_.find(job.cluster);
  held->room.clear();
  if (member == cluster_of_.end()) return;
  held->member = member->second;
  held->room = core::RequestsOf(*job.pod_sets, job.admission.get());
  AddRoom(held->member, held->room, -1);
}

// Exactly what Charge took, in the same three places.
void Amounts::GiveBack(const HeldAmounts& held) {
  usage_.Remove(*held.charged);
  if (forest_ != nullptr) machines_.Release(held.machines);
  if (!held.room.empty()) AddRoom(held.member, held.room, +1);
}

// `sign` is -1 or +1. A resource that the member does not list is not counted.
void Amounts::AddRoom(std::size_t member, const ResourceList& amounts, int sign) {
  ResourceList& free = clusters_[member].free;
  for (const ResourceAmount& one : amounts) {
    for (ResourceAmount& left : free) {
      if (left.resource == one.resource) left.amount += sign * one.amount;
    }
  }
}

// The holders are given as a pointer without ownership.
void Amounts::Fill(core::Snapshot* snapshot) const {
  snapshot->config = config_;
  snapshot->settings = settings_;
  snapshot->usage = usage_;
  snapshot->holders = std::shared_ptr<const core::Holders>(std::shared_ptr<void>(), &holders_);
  snapshot->topology = machines_;
  snapshot->clusters = clusters_;
}

}  // namespace muster::simulate
