// Apply: a snapshot with a plan charged to it, for simulations, previews of edits and property
// tests.
//
// Admitted workloads become holders at the snapshot's time: their usage, machines, room and spread
// counts are charged, and what they replace is given back. Evicted holders are marked and keep what
// they hold (rule A50). Of the heads, admitted workloads leave, and so do those that the plan
// parks, with all that would be parked together with them (rules A14, A15).
#include "schedd/core/cycle/apply.h"

#include <set>
#include <string>

#include "schedd/base/quantity.h"
#include "schedd/core/member/placement.h"
#include "schedd/core/member/placement_ask.h"
#include "schedd/core/queue/workload_class.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

// The key of the workloads that are parked together: all equal ones for a misfit, the class for a
// closed gate, else the workload alone.
std::string ParkingKey(const UnadmittedWorkload& waiting, const Snapshot& snapshot) {
  const JobRecord& job = *waiting.job;
  const AdmissionSettings& settings = *snapshot.settings;
  std::string key = "group " + job.cluster_queue + "/";
  switch (waiting.requeue) {
    case RequeueReason::kNoFit:
    case RequeueReason::kPreemptionNoCandidates:
      if (settings.equivalence_hashing) {
        AppendSchedulingKey(*snapshot.config, job, settings, &key);
        return key;
      }
      break;
    case RequeueReason::kGated:
      key = "class " + job.cluster_queue + "/";
      AppendClassKey(*snapshot.config, job, settings, &key);
      return key;
    default:
      break;
  }
  return std::to_string(job.id.value);
}

// Takes the admission's room off a member.
void Take(std::vector<ClusterView>* clusters, const std::string& name, const JobRecord& job,
          const Admission& admission) {
  if (!job.pod_sets) return;
  for (auto& cluster : *clusters) {
    if (cluster.member.name != name) continue;
    const ResourceList total = RequestsOf(*job.pod_sets, &admission);
    for (auto& entry : cluster.free) {
      entry.amount = SaturatingSub(entry.amount, AmountOf(total, entry.resource));
    }
  }
}

// Lists a job among those of its member whose pods are not bound to machines yet.
void Start(std::vector<ClusterView>* clusters, const JobPtr& job) {
  for (ClusterView& cluster : *clusters) {
    if (cluster.member.name != job->cluster || cluster.member.machines == nullptr) continue;
    std::vector<JobPtr> starting;
    if (cluster.starting != nullptr) starting = *cluster.starting;
    starting.push_back(job);
    cluster.starting = std::make_shared<const std::vector<JobPtr>>(std::move(starting));
  }
}

// Makes the job a holder of its admission and charges quota, machines and room. A second pass or a
// larger slice is charged in place of what was held before.
void Hold(const PlannedAdmission& admit, const AdmissionSettings& settings, Snapshot* after,
          Holders* holders) {
  static const PodSets kNone;
  auto job = std::make_shared<JobRecord>(*admit.job);
  if (admit.replaced != nullptr) {
    after->usage.Remove(*admit.replaced->admission);
    holders->Erase(admit.replaced->id);
  }
  if (admit.second_pass) {
    after->usage.Remove(*admit.job->admission);
  } else if (admit.replaced != nullptr) {
    Take(&after->clusters, admit.cluster, *admit.job,
         PodsBeyond(*admit.admission, *admit.replaced->admission));
  } else {
    Take(&after->clusters, admit.cluster, *admit.job, *admit.admission);
  }
  after->usage.Add(*admit.admission);
  ReserveQuota(job.get(), admit.admission, after->now);
  SyncAdmitted(job.get(), settings, after->now);
  job->cluster = admit.cluster;
  job->admit_time = after->now;
  if (const auto& forest = after->topology.forest()) {
    const PodSets& pod_sets = job->pod_sets ? *job->pod_sets : kNone;
    // A second pass or a slice gives back the machines that it held before.
    for (const JobRecord* left :
         {admit.second_pass ? admit.job.get() : nullptr, admit.replaced.get()}) {
      if (left == nullptr) continue;
      after->topology.Release(ChargesOn(*forest, left->pod_sets ? *left->pod_sets : kNone,
                                        *left->admission, left->cluster));
    }
    after->topology.Charge(ChargesOn(*forest, pod_sets, *admit.admission, admit.cluster));
  }
  if (!admit.second_pass && admit.replaced == nullptr) Start(&after->clusters, job);
  holders->Put(MakeHolder(after->usage.tree(), settings, std::move(job)));
}

// Counts the job for the spread constraints of its placement.
void CountPlaced(const Snapshot& snapshot, const PlannedAdmission& admit, PlacedCounts* placed) {
  if (admit.second_pass || admit.replaced != nullptr || admit.placed.empty()) return;
  const auto placement = GoverningPlacement(*snapshot.config, *admit.job, nullptr);
  if (placement == nullptr || placement->policy.spread.empty()) return;
  ++(*placed)[{placement->ns, placement->name}][admit.cluster];
}

}  // namespace

Snapshot Apply(const Snapshot& snapshot, const Plan& plan) {
  Snapshot after = snapshot;
  const AdmissionSettings& settings = *snapshot.settings;
  auto holders = snapshot.holders != nullptr ? std::make_shared<Holders>(*snapshot.holders)
                                             : std::make_shared<Holders>(after.usage.tree_ptr());
  std::set<JobId> gone;
  PlacedCounts placed = snapshot.placed != nullptr ? *snapshot.placed : PlacedCounts();
  for (const auto& admit : plan.admits) {
    gone.insert(admit.job->id);
    CountPlaced(snapshot, admit, &placed);
    Hold(admit, settings, &after, holders.get());
  }
  for (const auto& eviction : plan.evictions) {
    const HolderPtr* held = holders->Find(eviction.victim->id);
    if (held == nullptr) continue;
    auto marked = std::make_shared<Holder>(**held);
    marked->evicted = true;
    holders->Put(std::move(marked));
  }
  after.holders = std::move(holders);
  if (!placed.empty()) after.placed = std::make_shared<const PlacedCounts>(std::move(placed));
  after.cycle += static_cast<std::int64_t>(plan.rounds);
  after.second_pass.clear();
  std::set<std::string> parked;
  for (const auto& waiting : plan.not_admitted) {
    const auto spec = snapshot.config->cluster_queues.find(waiting.job->cluster_queue);
    const bool strict = spec != snapshot.config->cluster_queues.end() &&
                        spec->second.strategy == QueueingStrategy::kStrictFifo;
    // The rule of PendingQueues::Settle (rule A15), as far as it needs no later events.
    const bool again = RequeuesAtOnce(waiting.requeue, strict) ||
                       (waiting.last != nullptr && waiting.last->Pending());
    if (!again) parked.insert(ParkingKey(waiting, snapshot));
  }
  // A workload is parked if its group, its class, or it alone is.
  const auto is_parked = [&](const JobPtr& job) {
    if (parked.empty()) return false;
    std::string group = "group " + job->cluster_queue + "/";
    AppendSchedulingKey(*snapshot.config, *job, settings, &group);
    std::string of_class = "class " + job->cluster_queue + "/";
    AppendClassKey(*snapshot.config, *job, settings, &of_class);
    return parked.contains(group) || parked.contains(of_class) ||
           parked.contains(std::to_string(job->id.value));
  };
  for (auto& heads : after.heads) {
    std::erase_if(heads.jobs,
                  [&](const JobPtr& job) { return gone.contains(job->id) || is_parked(job); });
  }
  std::erase_if(after.heads,
                [](const QueueHeads& heads) { return heads.jobs.empty() && !heads.more; });
  return after;
}

}  // namespace muster::core
