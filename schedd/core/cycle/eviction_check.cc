// CheckEvictions: re-derives from the policies alone that each eviction of a plan is allowed. It
// shares no code with the search for victims: Allows states rule A35 a second time on purpose.
// Whether the victims were necessary is not checked here; property tests compare plans with a naive
// oracle.
#include "schedd/core/cycle/eviction_check.h"

#include <set>

#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

// True if `policy` allows `preemptor` to evict `victim` (rule A35).
bool Allows(PreemptionPolicy policy, const JobRecord& preemptor, const JobRecord& victim,
            const AdmissionSettings& settings) {
  const std::int64_t own = EffectivePriority(preemptor, settings);
  const std::int64_t its = EffectivePriority(victim, settings);
  switch (policy) {
    case PreemptionPolicy::kNever:
      return false;
    case PreemptionPolicy::kLowerPriority:
      return its < own;
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return its < own ||
             (its == own && QueueTime(preemptor, settings) < QueueTime(victim, settings));
    case PreemptionPolicy::kAny:
      break;
  }
  return true;
}

// The victim must be in the preemptor's cohort tree, and the policy of the preemptor's queue must
// allow it.
std::string PreemptionProblem(const Snapshot& snapshot, const Eviction& eviction) {
  if (eviction.preemptor == nullptr) return "is preempted for nobody";
  const QuotaTree& tree = snapshot.usage.tree();
  const std::string& queue = eviction.preemptor->cluster_queue;
  const auto spec = snapshot.config->cluster_queues.find(queue);
  const NodeIndex from = tree.ClusterQueueIndex(queue);
  const NodeIndex to = tree.ClusterQueueIndex(eviction.victim->admission->cluster_queue);
  if (spec == snapshot.config->cluster_queues.end() || from < 0 || to < 0) {
    return "is preempted from or for a queue that does not exist";
  }
  if (tree.node(from).root != tree.node(to).root) return "is preempted from another cohort tree";
  const QueuePreemption& policies = spec->second.preemption;
  const PreemptionPolicy policy =
      from == to ? policies.within_cluster_queue : policies.reclaim_within_cohort;
  return Allows(policy, *eviction.preemptor, *eviction.victim, *snapshot.settings)
             ? ""
             : "is preempted although the policy of " + queue + " does not allow it";
}

// "" if the eviction is allowed for its reason.
std::string Problem(const Snapshot& snapshot, const Eviction& eviction) {
  const JobRecord& victim = *eviction.victim;
  switch (eviction.reason) {
    case Reason::kPreempted:
      return PreemptionProblem(snapshot, eviction);
    case Reason::kFlavorMigration:
      return eviction.preemptor != nullptr && !StateOf(victim).concurrent_parent.empty() &&
                     StateOf(victim).concurrent_parent ==
                         StateOf(*eviction.preemptor).concurrent_parent
                 ? ""
                 : "is migrated for a workload that is no variant of the same";
    case Reason::kNodeFailures:
      return StateOf(victim).unhealthy_nodes.empty() ? "is evicted for nodes that did not fail"
                                                     : "";
    default:
      return "is evicted without a reason";
  }
}

}  // namespace

std::vector<std::string> CheckEvictions(const Snapshot& snapshot, const Plan& plan) {
  std::vector<std::string> problems;
  std::set<JobId> gone;
  for (const auto& admit : plan.admits) gone.insert(admit.job->id);
  for (const auto& eviction : plan.evictions) {
    const JobRecord& victim = *eviction.victim;
    const auto say = [&](const std::string& what) {
      problems.push_back("job " + std::to_string(victim.id.value) + " " + what);
    };
    // Admitted jobs are in the set as well, so this finds both mistakes.
    if (!gone.insert(victim.id).second) say("is evicted twice, or admitted by the same plan");
    if (snapshot.holders == nullptr || snapshot.holders->Find(victim.id) == nullptr) {
      say("is evicted and holds no quota");
      continue;
    }
    const std::string problem = Problem(snapshot, eviction);
    if (!problem.empty()) say(problem);
  }
  return problems;
}

}  // namespace muster::core
