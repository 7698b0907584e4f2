// Explain: a job that holds quota: why it is where it is, and what it still waits for. Flavors and
// members are compared as they would be now if the job held nothing (CompareFlavors): a flavor
// before its own that has room now was passed over when the job was admitted.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/core/explain/explain_ends.h"
#include "schedd/core/explain/explain_parts.h"
#include "schedd/core/explain/explain_quota.h"
#include "schedd/core/explain/explain_trial.h"
#include "schedd/core/member/rebalance.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"

namespace muster::core {
namespace {

// "main: 4 cpu of flavor spot".
std::string FlavorsText(const Admission& admission) {
  std::string text;
  for (const auto& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      if (!text.empty()) text += ", ";
      text += pod_set.name + ": " + FormatQuantity(resource, AmountOf(pod_set.usage, resource)) +
              " " + resource + " of flavor " + flavor;
    }
  }
  return text;
}

// Where the pods are, if topology aware scheduling placed them.
void SayMachines(const Admission& admission, Explanation* explanation) {
  for (const auto& pod_set : admission.pod_sets) {
    if (pod_set.topology_delayed && pod_set.topology == nullptr) {
      explanation->facts.push_back("pod set " + pod_set.name +
                                   " gets its machines when its checks are ready");
    }
    if (pod_set.topology == nullptr) continue;
    std::string text;
    std::size_t shown = 0;
    for (const TopologyDomain& domain : pod_set.topology->domains) {
      if (++shown > limits::kExplainNames) break;
      std::string name;
      for (const auto& value : domain.values) name += (name.empty() ? "" : "/") + value;
      text += (text.empty() ? "" : ", ") + std::to_string(domain.count) + " on " + name;
    }
    // The list of places may be long: only the first few are named.
    const std::size_t all = pod_set.topology->domains.size();
    if (all > limits::kExplainNames) {
      text += " and " + std::to_string(all - limits::kExplainNames) + " more places";
    }
    explanation->facts.push_back("pods of pod set " + pod_set.name + ": " + text);
  }
}

// What its ClusterQueue uses beyond its own quota: other queues of the cohort may take that back.
void SayBorrowing(const Snapshot& snapshot, const Admission& admission, Explanation* explanation) {
  const QuotaTree& tree = snapshot.usage.tree();
  const NodeIndex queue = tree.ClusterQueueIndex(admission.cluster_queue);
  if (queue < 0) return;
  // A queue may borrow one resource and not another: one sentence for each pair of the job.
  const NodeIndex cohort = tree.parent(queue);
  for (const Charge& charge : ChargesOf(tree, admission)) {
    const auto& [flavor, resource] = tree.pair(charge.pair);
    const std::int64_t used = snapshot.usage.At(queue, charge.pair);
    const std::int64_t nominal =
        tree.node(queue).quotas[static_cast<std::size_t>(charge.pair)].nominal;
    const auto amount = [&](std::int64_t value) { return FormatQuantity(resource, value); };
    std::string text = "ClusterQueue " + admission.cluster_queue + " uses " + amount(used) +
                       " of its own " + amount(nominal) + " " + resource + " of flavor " + flavor;
    if (used > nominal && cohort >= 0) {
      text += ": it borrows " + amount(SaturatingSub(used, nominal)) + " from cohort " +
              tree.node(cohort).name + ", whose other queues may take them back";
    } else {
      text += ": nothing is borrowed";
    }
    explanation->facts.push_back(std::move(text));
  }
}

// Submission, reservation, admission, start, and the latest end.
void SayTimes(const JobRecord& job, WallTime now, Explanation* explanation) {
  const auto add = [&](std::string text) { explanation->facts.push_back(std::move(text)); };
  add("submitted " + TimeText(job.submit_time, now));
  const Condition* reserved = FindCondition(job, "QuotaReserved");
  if (reserved != nullptr && reserved->status) {
    add("quota reserved " + TimeText(reserved->last_transition, now));
  }
  if (job.state == JobState::kReserved) return;
  if (job.admit_time.set()) {
    add("admitted " + TimeText(job.admit_time, now) + ", attempt " + std::to_string(job.attempt));
  }
  if (job.start_time.set()) add("started " + TimeText(job.start_time, now));
  // The end of this job can be promised to jobs that wait only if it declares a limit.
  const auto latest = LatestEnd(job, now);
  if (!DeclaredLimit(job)) {
    add("it declares no time limit: nobody who waits for what it holds can be told when");
  } else if (latest) {
    add("ends at the latest " + TimeText(*latest, now) + " (time limit " +
        SpanText(*DeclaredLimit(job)) + ")");
  }
}

// Whether rebalancing would move the job now (rule P17).
void SayMove(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation) {
  const auto queue = snapshot.config->cluster_queues.find(job.admission->cluster_queue);
  if (queue == snapshot.config->cluster_queues.end() || !queue->second.rebalance.on) return;
  if (!MayBeMoved(*snapshot.config, job)) return;
  const Rebalance& settings = queue->second.rebalance;
  const Rebalancer rebalancer(*snapshot.config, *snapshot.settings, snapshot.clusters,
                              snapshot.placed.get(), snapshot.now);
  // The same question that the engine asks once a period, at this moment.
  const auto better = rebalancer.Find(job, settings.gain);
  explanation->facts.push_back(
      "rebalancing, every " + SpanText(settings.every_s) + ": " +
      (better ? better->message + ", unless another job of its ClusterQueue gains more"
              : "no member cluster with the room would be worth " + std::to_string(settings.gain) +
                    " points more"));
}

// True if the job is being stopped; then the verdict is set.
bool SayEviction(const JobRecord& job, WallTime now, Explanation* explanation) {
  const Condition* evicted = FindCondition(job, "Evicted");
  if (evicted != nullptr && evicted->status) {
    SetVerdict(
        explanation, job.reason,
        "is being stopped and returns to its queue when its pods are gone: " + evicted->message);
    // Evicted has the general reason, Preempted the particular one.
    const Condition* preempted = FindCondition(job, "Preempted");
    std::string reason = evicted->reason;
    if (preempted != nullptr && preempted->status) reason += ", " + preempted->reason;
    explanation->facts.push_back("evicted " + TimeText(evicted->last_transition, now) + " (" +
                                 reason + ")");
    return true;
  }
  // A cancelled job holds its quota until its pods are gone, too.
  if (job.reason != Reason::kCancelled && job.reason != Reason::kDeadlineMissed &&
      job.reason != Reason::kDeadlineExceeded && job.reason != Reason::kClientGone) {
    return false;
  }
  SetVerdict(explanation, job.reason, "is being stopped for good: " + job.message);
  return true;
}

// The open admission checks of a job that holds quota and has not started.
void SayChecks(const JobRecord& job, WallTime now, Explanation* explanation) {
  std::string waits;
  for (const auto& check : StateOf(job).checks) {
    const std::string state(CheckStateName(check.state));
    explanation->facts.push_back("admission check " + check.name + " is " + state + " since " +
                                 TimeText(check.last_transition, now) +
                                 (check.message.empty() ? "" : ": " + check.message));
    if (check.state == CheckState::kReady) continue;
    waits += (waits.empty() ? "" : ", ") + check.name + " (" + state + ")";
    explanation->would_help.push_back("admission check " + check.name + " becoming Ready" +
                                      (check.message.empty() ? "" : ": " + check.message));
  }
  std::string summary = waits.empty() ? "holds quota; where its pods go is still open"
                                      : "holds quota and waits for admission checks: " + waits;
  if (job.admission) summary += "; reserved " + FlavorsText(*job.admission);
  SetVerdict(explanation, job.reason, std::move(summary));
}

void CompareFlavors(const ExplainInput& input, Explanation* explanation) {
  const JobRecord& job = *input.job;
  const Snapshot& snapshot = input.snapshot;
  const auto queue = snapshot.config->cluster_queues.find(job.cluster_queue);
  if (queue == snapshot.config->cluster_queues.end() || job.pod_sets == nullptr) return;
  Trial trial(snapshot);
  if (snapshot.holders != nullptr) {
    if (const HolderPtr* own = snapshot.holders->Find(job.id)) trial.Release(*own);
  }
  // The flavor search keeps the flavors of a job with a reservation, so the copy has none.
  JobRecord without = job;
  without.admission.reset();
  without.state = JobState::kPending;
  explanation->flavors = FindFlavors(trial.snapshot(), queue->second, without);
  std::set<std::string> passed;  // pod sets whose assigned flavor was reached
  for (FlavorFinding& finding : explanation->flavors) {
    FlavorVerdict& one = finding.verdict;
    // What the search would choose now does not matter: marked are the flavors that the job holds.
    finding.chosen = false;
    for (const PodSetAssignment& pods : job.admission->pod_sets) {
      if (pods.name != one.pod_set) continue;
      for (const auto& [resource, flavor] : pods.flavors) {
        finding.chosen = finding.chosen || (flavor == one.flavor &&
                                            (one.resource == resource || one.resource.empty()));
      }
    }
    if (finding.chosen) {
      passed.insert(one.pod_set);
      if (one.resource.empty()) one.message = "the job holds it";
      continue;
    }
    // Flavors behind the assigned one were not needed; those before it were passed over.
    const bool earlier = !passed.contains(one.pod_set);
    if (earlier && !one.resource.empty() && one.reason == Reason::kNone) {
      finding.limit = "it has room now; it was passed over when the job was admitted";
    }
  }
  explanation->clusters = CompareMembers(trial.snapshot(), job, job.admission.get());
  for (ClusterVerdict& verdict : explanation->clusters) {
    if (verdict.cluster != job.cluster) continue;
    const std::string here = AsksMembers(job) ? "its room is held here" : "the job is here";
    verdict.message = here + (verdict.message.empty() ? "" : "; " + verdict.message);
  }
}

}  // namespace

// Times and placement first, then the verdict, then the facts about what it holds.
void ExplainHolding(const ExplainInput& input, Explanation* explanation) {
  const JobRecord& job = *input.job;
  const WallTime now = input.snapshot.now;
  SayTimes(job, now, explanation);
  SayPlacement(input.snapshot, job, explanation);
  const bool leaving = SayEviction(job, now, explanation);
  if (!leaving && job.state == JobState::kReserved) {
    SayChecks(job, now, explanation);
  } else if (!leaving) {
    std::string summary = job.state == JobState::kRunning ? "runs" : "is admitted";
    if (!job.cluster.empty()) summary += " on member cluster " + job.cluster;
    if (job.admission) {
      summary += "; ClusterQueue " + job.admission->cluster_queue + " reserved " +
                 FlavorsText(*job.admission);
    }
    SetVerdict(explanation, job.reason, std::move(summary));
  }
  if (job.admission == nullptr) return;
  if (!leaving) SayMove(input.snapshot, job, explanation);
  SayMachines(*job.admission, explanation);
  SayBorrowing(input.snapshot, *job.admission, explanation);
  CompareFlavors(input, explanation);
}

}  // namespace muster::core
