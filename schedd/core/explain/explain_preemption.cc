// Explain: preemption. If the plan evicts, the victims are listed. Else, for each queue that holds
// some of the contested pairs, the first rule that protects its workloads is named: the policy, the
// queue's own quota, priorities, shares, or borrowing. Then each key of the policy, and the
// priority, is changed by itself, and Decide is asked whether it would evict (VictimsUnder).
#include "schedd/core/explain/explain_preemption.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/core/quota/fair_share.h"

namespace muster::core {
namespace {

// The names that specs use.
const char* PolicyName(PreemptionPolicy policy) {
  switch (policy) {
    case PreemptionPolicy::kNever:
      return "Never";
    case PreemptionPolicy::kLowerPriority:
      return "LowerPriority";
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return "LowerOrNewerEqualPriority";
    case PreemptionPolicy::kAny:
      return "Any";
  }
  return "";
}

// The queue's policies as written in its spec.
std::string PoliciesText(const QueuePreemption& policy) {
  std::string text = std::string("withinClusterQueue: ") + PolicyName(policy.within_cluster_queue) +
                     ", reclaimWithinCohort: " + PolicyName(policy.reclaim_within_cohort) +
                     ", borrowWithinCohort: " + PolicyName(policy.borrow_within_cohort);
  if (policy.max_priority_threshold) {
    text += " up to priority " + std::to_string(*policy.max_priority_threshold);
  }
  return text;
}

// True if the holder has some of these pairs.
bool Holds(const Holder& holder, const std::vector<FlavorResourceIndex>& pairs) {
  return std::any_of(holder.charges.begin(), holder.charges.end(), [&](const Charge& charge) {
    return charge.amount > 0 && std::find(pairs.begin(), pairs.end(), charge.pair) != pairs.end();
  });
}

// The job's question: its preemptor, policy and what it lacks.
struct Question {
  const Snapshot& snapshot;
  const QuotaTree& tree;
  const QueuePreemption& policy;
  Preemptor preemptor;
  const NearestMiss& nearest;
};

// Why the policy protects all holders by their priorities; "" if it allows some.
std::string PriorityVerdict(const char* key, PreemptionPolicy policy, const Question& question,
                            std::size_t workloads, std::size_t allowed) {
  const std::string rule = std::string(key) + ": " + PolicyName(policy);
  if (policy == PreemptionPolicy::kNever) return rule + " protects them";
  if (allowed > 0) return "";
  const std::string priority = std::to_string(question.preemptor.priority);
  if (policy == PreemptionPolicy::kLowerPriority) {
    return rule + " takes only priorities below " + priority + ": none of the " +
           std::to_string(workloads) + " has one";
  }
  return rule + " takes only priorities below " + priority +
         " and newer workloads of the same: none of the " + std::to_string(workloads) + " is one";
}

// The first node from the queue up to the preemptor's side that is within its quota: nothing below
// it can be reclaimed. -1 if all of them borrow.
NodeIndex WithinItsQuota(const Question& question, NodeIndex queue) {
  // True for the preemptor's queue and everything above it.
  const auto above = [&](NodeIndex node) {
    for (NodeIndex at = question.preemptor.queue; at >= 0; at = question.tree.parent(at)) {
      if (at == node) return true;
    }
    return false;
  };
  for (NodeIndex at = queue; at >= 0 && !above(at); at = question.tree.parent(at)) {
    if (question.snapshot.usage.WithinQuota(at, question.nearest.contested)) return at;
  }
  return -1;
}

std::string NodeName(const QuotaTree& tree, NodeIndex node) {
  return (tree.node(node).is_cluster_queue ? "ClusterQueue " : "cohort ") + tree.node(node).name;
}

// A contested pair of which the preemptor's queue would use more than its nominal quota; -1: none.
FlavorResourceIndex WouldBorrow(const Question& question) {
  const NodeIndex own = question.preemptor.queue;
  for (const Charge& charge : question.nearest.requests) {
    const auto& contested = question.nearest.contested;
    if (std::find(contested.begin(), contested.end(), charge.pair) == contested.end()) continue;
    const std::int64_t with =
        SaturatingAdd(question.snapshot.usage.At(own, charge.pair), charge.amount);
    if (with > question.tree.node(own).quotas[static_cast<std::size_t>(charge.pair)].nominal) {
      return charge.pair;
    }
  }
  return -1;
}

// The two shares that fair sharing compares (rule A41).
std::string SharesText(const Question& question, NodeIndex queue) {
  const QuotaTree& tree = question.tree;
  const NodeIndex own = question.preemptor.queue;
  Usage usage = question.snapshot.usage;
  for (const Charge& charge : question.nearest.requests) usage.Add(own, charge.pair, charge.amount);
  // The child of the lowest common ancestor on the side of `from`.
  const auto side = [&](NodeIndex from, NodeIndex other) {
    NodeIndex at = from;
    for (; tree.parent(at) >= 0; at = tree.parent(at)) {
      for (NodeIndex up = other; up >= 0; up = tree.parent(up)) {
        if (up == tree.parent(at)) return at;
      }
    }
    return at;
  };
  const NodeIndex mine = side(own, queue);
  const NodeIndex theirs = side(queue, own);
  return "fair sharing: with the job " + NodeName(tree, mine) + " would have a share of " +
         WeightedShareText(ShareOf(usage, mine)) + ", " + NodeName(tree, theirs) + " has " +
         WeightedShareText(ShareOf(usage, theirs)) +
         "; only from a higher share something is taken, and no more than leaves it as high";
}

// The verdict about another queue: the first rule that protects its workloads.
std::string OthersVerdict(const Question& question, NodeIndex queue, const QueueHolders& held) {
  const QueuePreemption& policy = question.policy;
  if (policy.reclaim_within_cohort == PreemptionPolicy::kNever) {
    return PriorityVerdict("reclaimWithinCohort", policy.reclaim_within_cohort, question,
                           held.workloads, held.allowed);
  }
  // A queue that uses only its own quota has nothing to give back, whatever the priorities are.
  if (const NodeIndex within = WithinItsQuota(question, queue); within >= 0) {
    return NodeName(question.tree, within) +
           " uses no more than its own quota of it: there is nothing to reclaim";
  }
  std::string verdict = PriorityVerdict("reclaimWithinCohort", policy.reclaim_within_cohort,
                                        question, held.workloads, held.allowed);
  if (!verdict.empty()) return verdict;
  const std::string some = std::to_string(held.allowed) + " of " + std::to_string(held.workloads);
  if (question.snapshot.settings->fair_sharing) return SharesText(question, queue);
  // Classical preemption: a preemptor that would borrow needs borrowWithinCohort.
  const FlavorResourceIndex borrows = WouldBorrow(question);
  if (borrows >= 0 && policy.borrow_within_cohort == PreemptionPolicy::kNever) {
    const std::string& resource = question.tree.pair(borrows).second;
    return "with the job " + NodeName(question.tree, question.preemptor.queue) +
           " would use more " + resource +
           " than its own quota, and borrowWithinCohort: Never takes nothing back for that";
  }
  if (borrows >= 0 && policy.max_priority_threshold) {
    return some + " may be preempted by priority; while the job borrows only those up to " +
           std::to_string(*policy.max_priority_threshold) +
           " (borrowWithinCohort), and that does not make enough room";
  }
  return some + " may be preempted, and that does not make enough room";
}

// The workloads of one queue that hold contested pairs, with the verdict.
QueueHolders HeldIn(const Question& question, NodeIndex queue) {
  QueueHolders held;
  held.cluster_queue = question.tree.node(queue).name;
  held.own = queue == question.preemptor.queue;
  const PreemptionPolicy policy =
      held.own ? question.policy.within_cluster_queue : question.policy.reclaim_within_cohort;
  // Amounts are summed up by resource over all contested flavors.
  std::map<std::string, std::int64_t> amounts;
  for (const HolderPtr& holder : question.snapshot.holders->Of(queue)) {
    if (!Holds(*holder, question.nearest.contested)) continue;
    ++held.workloads;
    if (SatisfiesPolicy(question.preemptor, *holder, policy)) ++held.allowed;
    if (held.first.size() < limits::kExplainNames) held.first.push_back(holder->job);
    for (const Charge& charge : holder->charges) {
      const auto& pairs = question.nearest.contested;
      if (std::find(pairs.begin(), pairs.end(), charge.pair) == pairs.end()) continue;
      std::int64_t& amount = amounts[question.tree.pair(charge.pair).second];
      amount = SaturatingAdd(amount, charge.amount);
    }
  }
  held.amounts.assign(amounts.begin(), amounts.end());
  if (held.workloads == 0) return held;
  if (!held.own) {
    held.verdict = OthersVerdict(question, queue, held);
    return held;
  }
  held.verdict =
      PriorityVerdict("withinClusterQueue", policy, question, held.workloads, held.allowed);
  if (held.verdict.empty()) {
    held.verdict = std::to_string(held.allowed) + " of " + std::to_string(held.workloads) +
                   " may be preempted, and that does not make enough room";
  }
  return held;
}

// The preemptor's own queue first, then all others of the tree by name; at most
// limits::kExplainQueues.
void ListHolders(const Question& question, PreemptionFinding* finding) {
  const NodeIndex own = question.preemptor.queue;
  const auto add = [&](NodeIndex queue) {
    QueueHolders held = HeldIn(question, queue);
    if (held.workloads == 0) return;
    if (finding->held_by.size() < limits::kExplainQueues) {
      finding->held_by.push_back(std::move(held));
    } else {
      ++finding->more_queues;
    }
  };
  add(own);
  for (NodeIndex at = 0; static_cast<std::size_t>(at) < question.tree.node_count(); ++at) {
    const QuotaTree::Node& node = question.tree.node(at);
    if (node.is_cluster_queue && at != own && node.root == question.tree.node(own).root) add(at);
  }
}

// The jobs that Decide would evict for the job if its queue had this policy. The tree and the usage
// are built anew, because policies are part of the tree.
std::vector<JobPtr> VictimsUnder(const Snapshot& base, const QueuePreemption& policy,
                                 const JobPtr& job) {
  auto config = std::make_shared<ConfigView>(*base.config);
  config->cluster_queues[job->cluster_queue].preemption = policy;
  Snapshot snapshot = base;
  snapshot.config = config;
  snapshot.usage = Usage(QuotaTree::Build(*config));
  const QuotaTree& tree = snapshot.usage.tree();
  for (NodeIndex at = 0; static_cast<std::size_t>(at) < tree.node_count(); ++at) {
    if (!tree.node(at).is_cluster_queue) continue;
    for (const HolderPtr& holder : base.holders->Of(at)) {
      for (const Charge& charge : holder->charges) {
        snapshot.usage.Add(at, charge.pair, charge.amount);
      }
    }
  }
  std::vector<JobPtr> victims;
  Trial trial(snapshot);
  for (const Eviction& eviction : trial.Ask(job).evictions) victims.push_back(eviction.victim);
  return victims;
}

std::string WouldPreempt(const std::vector<JobPtr>& victims) {
  return " it would preempt " + MentionsOf(victims, victims.size());
}

// Changes each key of the policy by itself, from the narrowest change to the widest.
void TryPolicies(const Snapshot& base, const QueuePreemption& now, bool in_cohort,
                 const JobPtr& job, std::vector<std::string>* sentences) {
  using Policy = PreemptionPolicy;
  const auto attempt = [&](const char* key, Policy was, Policy other, QueuePreemption policy) {
    const std::vector<JobPtr> victims = VictimsUnder(base, policy, job);
    if (victims.empty()) return false;
    sentences->push_back(std::string("with ") + key + ": " + PolicyName(other) + " (now " +
                         PolicyName(was) + ")" + WouldPreempt(victims));
    return true;
  };
  for (const Policy other : {Policy::kLowerPriority, Policy::kLowerOrNewerEqualPriority}) {
    if (now.within_cluster_queue >= other) continue;
    QueuePreemption policy = now;
    policy.within_cluster_queue = other;
    if (attempt("withinClusterQueue", now.within_cluster_queue, other, policy)) break;
  }
  if (!in_cohort) return;
  for (const Policy other : {Policy::kLowerPriority, Policy::kAny}) {
    if (now.reclaim_within_cohort >= other) continue;
    QueuePreemption policy = now;
    policy.reclaim_within_cohort = other;
    if (attempt("reclaimWithinCohort", now.reclaim_within_cohort, other, policy)) break;
  }
  if (now.borrow_within_cohort == Policy::kNever && now.reclaim_within_cohort != Policy::kNever) {
    QueuePreemption policy = now;
    policy.borrow_within_cohort = Policy::kLowerPriority;
    attempt("borrowWithinCohort", Policy::kNever, Policy::kLowerPriority, policy);
  }
}

// A priority just above the highest of the holders, if it is higher than the job's.
void TryPriority(const Snapshot& base, const QueuePreemption& now, const JobPtr& job,
                 const std::vector<HolderPtr>& holders, std::vector<std::string>* sentences) {
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  for (const HolderPtr& holder : holders) highest = std::max(highest, holder->priority);
  // The priority that a user can change is without the boost.
  const std::int64_t boost = EffectivePriority(*job, *base.settings) - job->priority;
  const std::int64_t wanted = SaturatingSub(highest, boost);
  // A priority that the job has already, or that does not exist, is no advice.
  if (wanted < job->priority || wanted >= std::numeric_limits<std::int32_t>::max()) return;
  auto raised = std::make_shared<JobRecord>(*job);
  raised->priority = static_cast<std::int32_t>(wanted + 1);
  const std::vector<JobPtr> victims = VictimsUnder(base, now, raised);
  if (victims.empty()) return;
  sentences->push_back("with a priority above " + std::to_string(wanted) + " (now " +
                       std::to_string(job->priority) + ")" + WouldPreempt(victims));
}

// Single changes that would make room; else all policies at their widest.
std::vector<std::string> WouldAllow(const Snapshot& base, const QueuePreemption& now,
                                    bool in_cohort, const JobPtr& job,
                                    const std::vector<HolderPtr>& holders) {
  std::vector<std::string> sentences;
  TryPriority(base, now, job, holders, &sentences);
  TryPolicies(base, now, in_cohort, job, &sentences);
  if (!sentences.empty()) return sentences;
  QueuePreemption all = now;
  all.within_cluster_queue = PreemptionPolicy::kLowerOrNewerEqualPriority;
  if (in_cohort) {
    all.reclaim_within_cohort = PreemptionPolicy::kAny;
    all.borrow_within_cohort = PreemptionPolicy::kLowerPriority;
    all.max_priority_threshold.reset();
  }
  const std::vector<JobPtr> victims = VictimsUnder(base, all, job);
  if (victims.empty()) {
    return {"no preemption policy of ClusterQueue " + job->cluster_queue +
            " would make room for it at its priority"};
  }
  return {"only with all of " + PoliciesText(all) + WouldPreempt(victims)};
}

// The jobs that the plan evicts and, if the job waits for its victims, those that are being
// stopped.
std::vector<JobPtr> VictimsOf(const Plan& plan, const std::vector<HolderPtr>& holders) {
  std::vector<JobPtr> victims;
  for (const Eviction& eviction : plan.evictions) victims.push_back(eviction.victim);
  // Holders that are being stopped are listed only if the job waits for them.
  const bool waits = !plan.not_admitted.empty() &&
                     plan.not_admitted[0].reason == Reason::kWaitingForPreemptedWorkloads;
  for (const HolderPtr& holder : holders) {
    if (waits && holder->evicted) victims.push_back(holder->job);
  }
  return victims;
}

}  // namespace

std::vector<HolderPtr> HoldersOfPairs(const Snapshot& snapshot, NodeIndex queue,
                                      const std::vector<FlavorResourceIndex>& pairs) {
  std::vector<HolderPtr> found;
  if (snapshot.holders == nullptr || queue < 0) return found;
  const QuotaTree& tree = snapshot.usage.tree();
  for (NodeIndex at = 0; static_cast<std::size_t>(at) < tree.node_count(); ++at) {
    if (!tree.node(at).is_cluster_queue || tree.node(at).root != tree.node(queue).root) continue;
    for (const HolderPtr& holder : snapshot.holders->Of(at)) {
      if (Holds(*holder, pairs)) found.push_back(holder);
    }
  }
  return found;
}

PreemptionFinding ExplainPreemption(Trial* trial, const ClusterQueue& queue, const JobPtr& job,
                                    const NearestMiss& nearest, const Plan& plan) {
  PreemptionFinding finding;
  const Snapshot& snapshot = trial->snapshot();
  const QuotaTree& tree = snapshot.usage.tree();
  const NodeIndex node = tree.ClusterQueueIndex(queue.name);
  finding.policies = PoliciesText(queue.preemption);
  if (node < 0 || nearest.contested.empty() || !nearest.possible) return finding;
  finding.asked = true;
  const std::vector<HolderPtr> holders = HoldersOfPairs(snapshot, node, nearest.contested);
  finding.victims = VictimsOf(plan, holders);
  if (!finding.victims.empty()) {
    finding.outcome = "it preempts " + MentionsOf(finding.victims, finding.victims.size()) +
                      " and starts when their pods are gone";
    return finding;
  }
  const Question question{snapshot, tree, queue.preemption,
                          PreemptorOf(tree, *snapshot.settings, *job), nearest};
  // Nobody holds the contested pairs: a limit is in the way, not a workload.
  if (holders.empty()) {
    finding.outcome = "nobody holds what it lacks: there is nobody to preempt";
    return finding;
  }
  const bool none = queue.preemption.within_cluster_queue == PreemptionPolicy::kNever &&
                    queue.preemption.reclaim_within_cohort == PreemptionPolicy::kNever;
  finding.outcome = none ? "ClusterQueue " + queue.name + " preempts nobody"
                         : "ClusterQueue " + queue.name + " may preempt nobody that makes room";
  ListHolders(question, &finding);
  finding.would_allow =
      WouldAllow(snapshot, queue.preemption, tree.parent(node) >= 0, job, holders);
  return finding;
}

}  // namespace muster::core
