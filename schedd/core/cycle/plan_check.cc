// CheckPlan: an independent check of every plan before it is committed.
//
// The checker has its own copies of usage, machines and room, and charges the plan's admissions to
// them one after another. Its rules are the simplest form of the promises: sums against limits,
// labels against selectors. They are written down a second time on purpose, so that an error of the
// planner is not repeated here. The cost is that of the plan's admissions, not of the snapshot.
#include "schedd/core/cycle/plan_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "schedd/base/quantity.h"
#include "schedd/core/cycle/eviction_check.h"
#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/queue/gates.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/license.h"
#include "schedd/model/requests.h"

namespace muster::core {
namespace {

// True if the taint keeps no pods away, or some toleration tolerates it.
bool Excuses(const std::vector<Toleration>& tolerations, const Taint& taint) {
  if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
  for (const auto& toleration : tolerations) {
    if (Tolerates(toleration, taint)) return true;
  }
  return false;
}

// One check; Run is called once.
class Checker {
 public:
  Checker(const Snapshot& snapshot, const Plan& plan)
      : snapshot_(snapshot),
        settings_(*snapshot.settings),
        plan_(plan),
        usage_(snapshot.usage),
        topology_(snapshot.topology) {
    for (const auto& job : snapshot.second_pass) second_pass_.insert(job->id);
    for (const auto& cluster : snapshot.clusters) free_.push_back(cluster.free);
    if (snapshot.placed != nullptr) placed_ = *snapshot.placed;
    for (std::size_t q = 0; q < snapshot.heads.size(); ++q) {
      const auto& jobs = snapshot.heads[q].jobs;
      for (std::size_t i = 0; i < jobs.size(); ++i) seats_[jobs[i]->id] = {q, i};
    }
    decided_.resize(snapshot.heads.size());
  }

  // Admissions first, in the order of the plan, because each one is charged before the next is
  // checked.
  std::vector<std::string> Run() {
    for (const auto& admit : plan_.admits) CheckAdmit(admit);
    for (const auto& waiting : plan_.not_admitted) {
      if (waiting.second_pass) continue;
      if (!TakeSeat(*waiting.job, false)) Say(*waiting.job, "is refused twice or was no head");
      if (waiting.reason == Reason::kNone) Say(*waiting.job, "waits without a reason");
    }
    CheckStrictOrder();
    for (auto& sentence : CheckEvictions(snapshot_, plan_)) {
      problems_.push_back(std::move(sentence));
    }
    return std::move(problems_);
  }

 private:
  // A head of the snapshot: its queue, and its position there.
  struct Seat {
    std::size_t queue = 0, position = 0;
    bool taken = false;
  };

  // Adds a sentence about a job.
  void Say(const JobRecord& job, const std::string& what) {
    problems_.push_back("job " + std::to_string(job.id.value) + " " + what);
  }

  // False if the workload was decided already or was no head of its queue.
  bool TakeSeat(const JobRecord& job, bool admitted) {
    const auto seat = seats_.find(job.id);
    if (seat == seats_.end() || seat->second.taken) return false;
    seat->second.taken = true;
    if (admitted) decided_[seat->second.queue].push_back(seat->second.position);
    return snapshot_.heads[seat->second.queue].cluster_queue == job.cluster_queue;
  }

  void CheckAdmit(const PlannedAdmission& admit) {
    const JobRecord& job = *admit.job;
    // Second passes are not among the heads.
    const bool known = admit.second_pass ? second_pass_.erase(job.id) > 0 : TakeSeat(job, true);
    if (!known) Say(job, "is admitted twice or was no head");
    if (!admit.admission || admit.admission->cluster_queue != job.cluster_queue) {
      Say(job, "is admitted to another ClusterQueue than its own");
      return;
    }
    const auto queue = snapshot_.config->cluster_queues.find(job.cluster_queue);
    if (QueueGate(*snapshot_.config, settings_, usage_.tree(), job.cluster_queue) ||
        queue == snapshot_.config->cluster_queues.end()) {
      Say(job, "is admitted by a ClusterQueue that is not active");
      return;
    }
    if (const auto gate = JobGate(*snapshot_.config, queue->second, job)) {
      Say(job, "is admitted although " + gate->message);
    }
    CheckGang(job, queue->second, *admit.admission);
    CheckQuota(admit);
    CheckTopology(admit);
    const PlacementAsk ask = AskOf(*snapshot_.config, settings_, job, snapshot_.now);
    // A larger slice must stay on its member and needs room for the additional pods only.
    if (admit.replaced != nullptr) {
      if (!snapshot_.clusters.empty() && admit.cluster != admit.replaced->cluster)
        Say(job, "grows away from where it runs");
      CheckCluster(job, PodsBeyond(*admit.admission, *admit.replaced->admission), admit.cluster,
                   ask.empty());
    } else if (!admit.second_pass) {
      CheckPlacement(job, ask, admit.cluster);
      const bool pinned = ask.own != nullptr && !ask.own->cluster.empty();
      CheckCluster(job, *admit.admission, admit.cluster, ask.placement == nullptr && !pinned);
    }
  }

  // All pod sets with all their pods: or at least the minimum, with partial admission.
  void CheckGang(const JobRecord& job, const ClusterQueue& queue, const Admission& admission) {
    static const PodSets kNone;
    const PodSets& pod_sets = job.pod_sets ? *job.pod_sets : kNone;
    if (admission.pod_sets.size() != pod_sets.size()) {
      Say(job, "is admitted with " + std::to_string(admission.pod_sets.size()) + " of " +
                   std::to_string(pod_sets.size()) + " pod sets");
      return;
    }
    const Demand demand = DemandOf(job, settings_);
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
      const auto& assigned = admission.pod_sets[i];
      const std::int32_t most = demand[i].count;
      // Elastic jobs are not admitted with fewer pods (rule A34).
      const bool partial = settings_.partial_admission && !job.elastic;
      const std::int32_t least =
          partial ? std::min(most, pod_sets[i].min_count.value_or(most)) : most;
      // A second pass keeps the count that it was admitted with.
      const bool whole =
          assigned.count <= most && (assigned.count >= least || job.admission != nullptr);
      if (assigned.name != pod_sets[i].name || !whole) {
        Say(job, "is admitted without all pods of pod set " + pod_sets[i].name);
      }
      CheckPodSet(job, queue, demand[i], assigned);
    }
  }

  // Each resource that is asked for has a flavor and is charged with the right amount; one flavor
  // per resource group.
  void CheckPodSet(const JobRecord& job, const ClusterQueue& queue, const PodSetDemand& demand,
                   const PodSetAssignment& assigned) {
    const PodSet& pod_set = *demand.pod_set;
    std::map<std::string, std::int64_t> wanted;
    for (const auto& [resource, amount] : demand.per_pod) {
      if (resource != "pods") wanted[resource] = SaturatingMul(amount, assigned.count);
    }
    // If a group covers `pods`, each pod counts one, whatever the template asks for.
    std::map<const ResourceGroup*, std::string> flavor_of;
    for (const auto& group : queue.resource_groups) {
      for (const auto& resource : group.covered_resources) {
        if (resource == "pods") wanted[resource] = assigned.count;
      }
    }
    for (const auto& [resource, amount] : wanted) {
      const auto flavor = assigned.flavors.find(resource);
      if (flavor == assigned.flavors.end()) {
        const bool ignored = settings_.quota_check_strategy && settings_.ignore_undeclared &&
                             !Covers(queue, resource);
        if (amount != 0 && !ignored) Say(job, "has no flavor for " + resource);
        continue;
      }
      if (AmountOf(assigned.usage, resource) != amount) {
        Say(job, "is charged wrongly for " + resource);
      }
      const ResourceGroup* group = GroupWith(queue, flavor->second, resource);
      if (group == nullptr) {
        Say(job, "has flavor " + flavor->second + " that its queue does not have for " + resource);
        continue;
      }
      const auto [known, fresh] = flavor_of.emplace(group, flavor->second);
      if (known->second != flavor->second) Say(job, "has two flavors of one resource group");
      if (fresh) CheckFlavor(job, flavor->second, pod_set.constraints.get());
    }
  }

  static bool Covers(const ClusterQueue& queue, const std::string& resource) {
    return std::any_of(queue.resource_groups.begin(), queue.resource_groups.end(),
                       [&](const ResourceGroup& group) {
      const auto& covered = group.covered_resources;
      return std::find(covered.begin(), covered.end(), resource) != covered.end();
    });
  }

  // The resource group with a quota for this flavor and resource; null if there is none.
  static const ResourceGroup* GroupWith(const ClusterQueue& queue, const std::string& flavor,
                                        const std::string& resource) {
    for (const auto& group : queue.resource_groups) {
      for (const auto& entry : group.flavors) {
        if (entry.flavor != flavor) continue;
        for (const auto& quota : entry.resources) {
          if (quota.first == resource) return &group;
        }
      }
    }
    return nullptr;
  }

  // Rule A28 once more: taints, selector, affinity.
  void CheckFlavor(const JobRecord& job, const std::string& name,
                   const SchedulingConstraints* constraints) {
    static const SchedulingConstraints kNone;
    const SchedulingConstraints& pods = constraints == nullptr ? kNone : *constraints;
    const auto flavor = snapshot_.config->flavors.find(name);
    if (flavor == snapshot_.config->flavors.end()) {
      Say(job, "has flavor " + name + " that does not exist");
      return;
    }
    for (const auto& taint : flavor->second.node_taints) {
      if (!Excuses(flavor->second.tolerations, taint) && !Excuses(pods.tolerations, taint)) {
        Say(job, "does not tolerate a taint of flavor " + name);
      }
    }
    // Only labels that the flavor itself has can keep a pod away.
    const LabelMap& labels = flavor->second.node_labels;
    for (const auto& [key, value] : pods.node_selector) {
      const auto label = labels.find(key);
      if (label != labels.end() && label->second != value) {
        Say(job, "does not select flavor " + name);
      }
    }
    // Terms are alternatives; an expression on a key that the flavor does not have always passes.
    bool any_term = !pods.has_required_affinity || pods.required_terms.empty();
    for (const auto& term : pods.required_terms) {
      bool all = true;
      for (const auto& requirement : term.match_expressions) {
        all = all && (!labels.contains(requirement.key) || Matches(requirement, labels));
      }
      any_term = any_term || all;
    }
    if (!any_term) Say(job, "has no affinity to flavor " + name);
  }

  // Charges the admission in place of what it replaces. Then each node that holds more than before
  // must be within its limits.
  void CheckQuota(const PlannedAdmission& admit) {
    const QuotaTree& tree = usage_.tree();
    const Usage before = usage_;
    if (admit.second_pass) usage_.Remove(*ChargedAdmission(*admit.job, settings_));
    if (admit.replaced != nullptr) usage_.Remove(*admit.replaced->admission);
    usage_.Add(*admit.admission);
    const NodeIndex queue = tree.ClusterQueueIndex(admit.admission->cluster_queue);
    for (const Charge& charge : ChargesOf(tree, *admit.admission)) {
      for (NodeIndex at = queue; at >= 0; at = tree.node(at).parent) {
        if (usage_.At(at, charge.pair) > before.At(at, charge.pair)) {
          CheckNode(*admit.job, at, charge.pair);
        }
      }
    }
  }

  // All pods of a placed pod set are on some machine, and every machine has the room.
  void CheckTopology(const PlannedAdmission& admit) {
    const JobRecord& job = *admit.job;
    bool placed = false;
    for (const auto& pod_set : admit.admission->pod_sets) {
      if (pod_set.topology == nullptr) continue;
      placed = true;
      std::int64_t count = 0;
      for (const auto& domain : pod_set.topology->domains) {
        count += domain.count;
        if (domain.count <= 0) Say(job, "has an empty topology domain");
      }
      if (count != pod_set.count) Say(job, "has not all pods of " + pod_set.name + " placed");
    }
    if (!placed || topology_.forest() == nullptr || job.pod_sets == nullptr) return;
    for (const JobRecord* left : {admit.second_pass ? &job : nullptr, admit.replaced.get()}) {
      if (left != nullptr) topology_.Release(MachinesOf(*left, *left->admission, left->cluster));
    }
    const TopologyCharges charges = MachinesOf(job, *admit.admission, admit.cluster);
    if (!topology_.Fits(charges)) Say(job, "is placed on machines without the room");
    topology_.Charge(charges);
  }

  TopologyCharges MachinesOf(const JobRecord& job, const Admission& admission,
                             const std::string& cluster) const {
    return ChargesOn(*topology_.forest(), *job.pod_sets, admission, cluster);
  }

  // A node may use its subtree quota and its borrowing limit; a root its subtree quota; no sum may
  // saturate.
  void CheckNode(const JobRecord& job, NodeIndex at, FlavorResourceIndex pair) {
    const auto& node = usage_.tree().node(at);
    const auto index = static_cast<std::size_t>(pair);
    const std::int64_t used = usage_.At(at, pair);
    const std::int64_t own = node.subtree[index];
    std::int64_t most = own;
    if (node.parent >= 0) {
      const auto& limit = node.quotas[index].borrowing_limit;
      most = limit ? SaturatingAdd(own, *limit) : kUnlimited;
    }
    if (used > most || (used == kUnlimited && own != kUnlimited)) {
      const auto& [flavor, resource] = usage_.tree().pair(pair);
      Say(job, "takes " + node.name + " to " + FormatQuantity(resource, used) + " " + resource +
                   " of flavor " + flavor + " where " + FormatQuantity(resource, most) +
                   " is the most");
    }
  }

  // Checks the member against the kinds that it serves and the policy of the job's placement, with
  // what the plan has taken before. Counts the job for spread constraints.
  void CheckPlacement(const JobRecord& job, const PlacementAsk& ask, const std::string& name) {
    const auto at = std::find_if(snapshot_.clusters.begin(), snapshot_.clusters.end(),
                                 [&](const ClusterView& one) { return one.member.name == name; });
    if (at == snapshot_.clusters.end()) return;
    const auto* kinds = at->member.kinds.get();
    if (kinds != nullptr &&
        std::find(kinds->begin(), kinds->end(), KindOnMember(job)) == kinds->end())
      Say(job, "is placed on " + name + " that does not serve its kind");
    if (ask.empty()) return;
    // The room with what the plan has taken so far, for placements that ask for available amounts.
    if (!room_) {
      room_.emplace(snapshot_.clusters);
      for (const auto& [member, amounts] : taken_) room_->Take(member, amounts);
    }
    const PolicyFit policy(ask, *room_, &placed_);
    const auto member = static_cast<std::size_t>(at - snapshot_.clusters.begin());
    if (const auto refusal = policy.Filter(*room_, member)) {
      Say(job, "is put on " + name + " against its placement: " + refusal->message);
    }
    if (ask.placement != nullptr) ++placed_[{ask.placement->ns, ask.placement->name}][name];
  }

  // Checks that the member is open and that flavors and room are there. `taints`: the job's pods
  // must tolerate the member's taints, because no placement decides about them.
  void CheckCluster(const JobRecord& job, const Admission& admission, const std::string& name,
                    bool taints) {
    if (snapshot_.clusters.empty()) {
      if (!name.empty()) Say(job, "is placed on " + name + " that does not exist");
      return;
    }
    std::size_t at = 0;
    while (at < snapshot_.clusters.size() && snapshot_.clusters[at].member.name != name) ++at;
    if (at == snapshot_.clusters.size()) {
      Say(job, "is placed on \"" + name + "\" that does not exist");
      return;
    }
    const MemberCluster& member = snapshot_.clusters[at].member;
    if (member.cordoned || !member.healthy) Say(job, "is placed on " + name + " that is closed");
    const std::size_t assigned = job.pod_sets ? admission.pod_sets.size() : 0;
    for (std::size_t i = 0; i < assigned && i < job.pod_sets->size(); ++i) {
      CheckMember(job, member, (*job.pod_sets)[i], admission.pod_sets[i], taints);
    }
    TakeRoom(job, admission, member, &free_[at]);
  }

  // The member has the labels of the flavors, and its taints are tolerated.
  void CheckMember(const JobRecord& job, const MemberCluster& member, const PodSet& pod_set,
                   const PodSetAssignment& assigned, bool taints) {
    std::vector<Toleration> tolerations;
    if (pod_set.constraints) tolerations = pod_set.constraints->tolerations;
    for (const auto& [resource, name] : assigned.flavors) {
      const auto flavor = snapshot_.config->flavors.find(name);
      // CheckFlavor reports a missing flavor.
      if (flavor == snapshot_.config->flavors.end()) continue;
      const auto& more = flavor->second.tolerations;
      tolerations.insert(tolerations.end(), more.begin(), more.end());
      for (const auto& [key, value] : flavor->second.node_labels) {
        const auto label = member.labels.find(key);
        const bool absent = label == member.labels.end();
        if (absent ? !member.any_flavor : label->second != value) {
          Say(job, "is placed on " + member.name + " that does not serve flavor " + name);
        }
      }
    }
    for (const auto& taint : member.taints) {
      if (taints && !Excuses(tolerations, taint))
        Say(job, "does not tolerate a taint of " + member.name);
    }
  }

  // Resources that the member does not declare are not limited for cpu and memory, and absent for
  // all else. Licences are of no member: quota alone counts them.
  void TakeRoom(const JobRecord& job, const Admission& admission, const MemberCluster& member,
                ResourceList* free) {
    if (!job.pod_sets) return;
    const ResourceList total = RequestsOf(*job.pod_sets, &admission);
    taken_.emplace_back(member.name, total);
    if (room_) room_->Take(member.name, total);
    for (const auto& [resource, amount] : total) {
      if (amount == 0 || IsLicense(resource)) continue;
      // cpu and memory are not limited on a member that does not declare them.
      bool declared = false;
      for (const auto& entry : member.allocatable) declared |= entry.resource == resource;
      if (!declared && (resource == "cpu" || resource == "memory")) continue;
      const std::int64_t left = declared ? AmountOf(*free, resource) : 0;
      if (amount > left) Say(job, "has no room for its " + resource + " on " + member.name);
      if (declared) SetAmount(free, resource, SaturatingSub(left, amount));
    }
  }

  // A StrictFIFO queue admits its heads from the front without a gap; heads with a closed gate are
  // not counted.
  void CheckStrictOrder() {
    for (std::size_t q = 0; q < decided_.size(); ++q) {
      const auto& heads = snapshot_.heads[q];
      const auto queue = snapshot_.config->cluster_queues.find(heads.cluster_queue);
      if (decided_[q].empty() || queue == snapshot_.config->cluster_queues.end()) continue;
      if (queue->second.strategy != QueueingStrategy::kStrictFifo) continue;
      std::size_t expected = 0;
      for (const std::size_t position : decided_[q]) {
        while (expected < position &&
               JobGate(*snapshot_.config, queue->second, *heads.jobs[expected])) {
          ++expected;
        }
        if (position != expected) Say(*heads.jobs[position], "overtakes in a StrictFIFO queue");
        expected = std::max(expected, position + 1);
      }
    }
  }

  const Snapshot& snapshot_;
  const AdmissionSettings& settings_;
  const Plan& plan_;
  Usage usage_;
  TopologyUsage topology_;
  std::set<JobId> second_pass_;     // those not decided yet
  std::vector<ResourceList> free_;  // by cluster
  std::optional<MemberRoom> room_;  // the same room for policies; unset: not needed yet
  std::vector<std::pair<std::string, ResourceList>> taken_;
  PlacedCounts placed_;
  std::unordered_map<JobId, Seat> seats_;          // heads by job; never iterated
  std::vector<std::vector<std::size_t>> decided_;  // by queue: positions of admitted heads
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> CheckPlan(const Snapshot& snapshot, const Plan& plan) {
  if (plan.empty()) return {};
  return Checker(snapshot, plan).Run();
}

}  // namespace muster::core
