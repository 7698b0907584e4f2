// The sums over the records of one world. The engine keeps two ledgers: one of the committed
// records (what the view shows) and one of the live records (LiveJobs::planned, what decisions go
// by).
//
// Count adds or subtracts everything that one record stands for, and Move calls it for the record
// before and the record after. Both read the amounts from the records themselves, so an amount
// cannot be given back twice, nor differ from what was charged. What a record charges depends on
// its state alone: an ended job counts in its queue; a waiting one counts as waiting; a holder
// charges its admission (less its reclaimable pods, rule A10) to its ClusterQueue and to its
// member.
#include "schedd/engine/commit/ledger.h"

#include "schedd/base/fault_points.h"
#include "schedd/base/quantity.h"
#include "schedd/core/member/placement.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"

namespace muster {

// Reported labels and amounts go over declared ones, key by key. Health, room used by others and
// machines are what the member reports, and nothing else.
MemberCluster WithFacts(const MemberCluster& declared,
                        const std::map<std::string, ClusterFacts>& facts) {
  MemberCluster member = declared;
  const auto seen = facts.find(declared.name);
  if (seen == facts.end()) return member;
  member.healthy = seen->second.healthy;
  member.answers = seen->second.answers;
  member.message = seen->second.message;
  member.observed_at = seen->second.observed_at;
  for (const auto& [key, value] : seen->second.labels) member.labels[key] = value;
  for (const auto& one : seen->second.allocatable)
    SetAmount(&member.allocatable, one.resource, one.amount);
  // Capacity is at least what is allocatable, also of resources that are only declared.
  for (const auto& one : seen->second.capacity)
    SetAmount(&member.capacity, one.resource, one.amount);
  if (!member.capacity.empty()) MaxAmounts(&member.capacity, member.allocatable);
  member.used_by_others = seen->second.used_by_others;
  member.machines = seen->second.machines;
  if (seen->second.node_count >= 0) member.node_count = seen->second.node_count;
  // A member that does not report machines has the declared ones.
  if (member.machines == nullptr && !member.nodes.empty())
    member.node_count = static_cast<std::int32_t>(member.nodes.size());
  if (!seen->second.version.empty()) member.version = seen->second.version;
  if (seen->second.kinds != nullptr) member.kinds = seen->second.kinds;
  return member;
}

void Ledger::Move(const JobRecord* before, const JobRecord* after) {
  if (MUSTER_PLANTED(quota_kept_by_evicted) && before != nullptr && after != nullptr &&
      HoldsQuota(before->state) && after->state == JobState::kPending)
    return;
  if (before != nullptr) Count(*before, -1);
  if (after != nullptr) Count(*after, +1);
}

// `sign` is +1 or -1. A reserved job (its checks are open) charges its queue, and its member too if
// one was chosen.
void Ledger::Count(const JobRecord& job, int sign) {
  // -1 becomes the largest size_t; adding it subtracts 1.
  const auto step = static_cast<std::size_t>(sign);
  if (IsTerminal(job.state)) {
    queues_[job.cluster_queue].finished += step;
    return;
  }
  if (job.state == JobState::kPending || job.state == JobState::kHeld) waiting_ += step;
  if (!HoldsQuota(job.state) || job.admission == nullptr) return;
  QueueStats& stats = queues_[job.admission->cluster_queue];
  stats.reserving += step;
  if (IsDispatched(job.state)) stats.admitted += step;
  const AdmissionPtr charged = ChargedAdmission(job, *settings_);
  if (sign > 0) {
    usage_.Add(*charged);
  } else {
    usage_.Remove(*charged);
    if (MUSTER_PLANTED(double_release)) usage_.Remove(*charged);
  }
  if (job.cluster.empty()) return;
  if (sign < 0 && MUSTER_PLANTED(room_not_freed)) return;
  HeldRoom& held = held_[job.cluster];
  held.attempts += step;
  ResourceList amounts = core::RequestsOf(*job.pod_sets, charged.get());
  AddAmounts(&held.amounts, sign > 0 ? amounts : Scaled(amounts, -1));
  if (held.attempts == 0) held_.erase(job.cluster);
}

// Free = allocatable - used by pods of others - requests of attempts here (rule P12); it may be
// negative.
std::vector<core::ClusterView> Ledger::Clusters(
    const ConfigView& config, const std::map<std::string, ClusterFacts>& facts) const {
  std::vector<core::ClusterView> views;
  views.reserve(config.member_clusters.size());
  for (const auto& [name, declared] : config.member_clusters) {
    core::ClusterView view{WithFacts(declared, facts), {}, nullptr};
    const auto held = held_.find(name);
    for (ResourceAmount one : view.member.allocatable) {
      one.amount = SaturatingSub(one.amount, AmountOf(view.member.used_by_others, one.resource));
      if (held != held_.end())
        one.amount = SaturatingSub(one.amount, AmountOf(held->second.amounts, one.resource));
      view.free.push_back(std::move(one));
    }
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace muster
