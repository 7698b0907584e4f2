// Explain: a job that waits for quota or a member cluster.
//
// The order of the questions: can any member ever hold it; does something keep it from being tried
// at all (ExplainShut); where is it in its queue; how does each flavor fare; what does Decide say
// about it alone. If Decide admits it, it waits for others of its queue (ExplainFitting). If not,
// the verdict and the remedies follow from the reason (ExplainMisfit).
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/quantity.h"
#include "schedd/core/explain/explain_ends.h"
#include "schedd/core/explain/explain_parts.h"
#include "schedd/core/explain/explain_preemption.h"
#include "schedd/core/explain/explain_quota.h"
#include "schedd/core/member/never_fits.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/core/queue/gates.h"
#include "schedd/core/queue/queue_entry.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::core {
namespace {

// Submission and the last eviction.
void SayHistory(const JobRecord& job, WallTime now, Explanation* explanation) {
  explanation->facts.push_back("submitted " + TimeText(job.submit_time, now));
  const Condition* evicted = FindCondition(job, "Evicted");
  if (evicted == nullptr || !evicted->status) return;
  const Condition* preempted = FindCondition(job, "Preempted");
  std::string reason = evicted->reason;
  if (preempted != nullptr && preempted->status) reason += ", " + preempted->reason;
  explanation->facts.push_back("evicted " + TimeText(evicted->last_transition, now) + " (" +
                               reason + "): " + evicted->message);
}

// If no member is large enough, the sentence about it comes first, whatever else the job waits for.
void SayNever(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation) {
  if (job.pod_sets == nullptr) return;
  // A pinned job is compared with its member only.
  const std::string_view pinned =
      job.placement == nullptr ? std::string_view() : std::string_view(job.placement->cluster);
  std::string never = NeverFits(snapshot.clusters, *job.pod_sets, pinned);
  if (!never.empty()) explanation->facts.insert(explanation->facts.begin(), std::move(never));
}

// The reason for which the job backs off: a requeue, a try whose pods did not become ready, or
// evictions in a row.
std::string WaitText(const Condition* requeued, const AdmissionState& state) {
  const std::string reason = requeued == nullptr ? std::string() : requeued->reason;
  if (reason == ReasonName(Reason::kRequeued)) {
    return "was requeued (" + requeued->message +
           "; annotation muster.io/requeue-wait of its queue)";
  }
  // The requeue count is that of waitForPodsReady; a retry of an admission check reads the same.
  const bool counted =
      state.requeue_count > 0 || reason.empty() || reason == ReasonName(Reason::kAdmissionCheck);
  if (counted) return "backs off after try " + std::to_string(std::max(1, state.requeue_count));
  return "was evicted again soon after it could run (" + reason + ")";
}

// True if something keeps the job from being tried whatever quota is free; then the verdict is set.
// The checks are those of rules A11 and A19, the gates of batch scripts, and back-off.
bool ExplainShut(const ExplainInput& input, Explanation* explanation) {
  const Snapshot& snapshot = input.snapshot;
  const JobRecord& job = *input.job;
  const AdmissionState& state = StateOf(job);
  const auto say = [&](Reason reason, std::string summary, std::string help) {
    SetVerdict(explanation, reason, std::move(summary));
    explanation->would_help.push_back(std::move(help));
    return true;
  };
  if (!state.active) {
    return say(Reason::kDeactivated, DeactivationEviction(job).message,
               "activating it again: spec.active of its Workload");
  }
  if (!state.admission_gated_by.empty()) {
    return say(
        Reason::kAdmissionGated, "Admission is gated by: " + state.admission_gated_by,
        "the removal of the gate " + state.admission_gated_by + " by the controller that set it");
  }
  if (const auto entry = EntryGate(job)) return say(entry->reason, entry->message, "its release");
  if (input.gate) return say(input.gate->reason, input.gate->message, input.gate->opens);
  // The same two gates that the cycle checks (rule A19).
  auto gate =
      QueueGate(*snapshot.config, *snapshot.settings, snapshot.usage.tree(), job.cluster_queue);
  if (!gate) {
    gate = JobGate(*snapshot.config, snapshot.config->cluster_queues.at(job.cluster_queue), job);
  }
  if (gate) {
    return say(gate->reason, gate->message,
               gate->reason == Reason::kSuspended
                   ? "the queue being active again"
                   : "a configuration in which this is not so: " + gate->message);
  }
  if (!state.resource_problem.empty()) {
    return say(Reason::kMisconfigured, state.resource_problem,
               "a job whose requests keep to these limits");
  }
  if (BackoffExpired(job, snapshot.now)) return false;
  const Condition* requeued = FindCondition(job, "Requeued");
  // A back-off with an end, or one that only an event ends.
  if (state.requeue_at && *state.requeue_at > snapshot.now) {
    return say(Reason::kBackoff,
               WaitText(requeued, state) + " and is not tried again before " +
                   TimeText(*state.requeue_at, snapshot.now),
               "the end of its back-off at " + FormatRfc3339(*state.requeue_at));
  }
  const std::string message = requeued == nullptr ? "it was evicted" : requeued->message;
  return say(Reason::kBackoff, "is not tried again yet: " + message,
             "the end of what it was evicted for");
}

// The flavors that the job misses by least, as an admission: with them members are compared.
AdmissionPtr WouldHold(const JobRecord& job, const NearestMiss& nearest) {
  auto admission = std::make_shared<Admission>();
  admission->cluster_queue = job.cluster_queue;
  for (const PodSet& pod_set : *job.pod_sets) {
    PodSetAssignment& pods = admission->pod_sets.emplace_back();
    pods.name = pod_set.name;
    pods.count = pod_set.count;
    for (const FlavorFinding* row : nearest.rows) {
      if (row->verdict.pod_set == pod_set.name) {
        pods.flavors[row->verdict.resource] = row->verdict.flavor;
      }
    }
  }
  return admission;
}

// "needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free (flavor a100)".
std::string RowText(const FlavorFinding& row, bool name_pod_set) {
  return (name_pod_set ? "pod set " + row.verdict.pod_set + " " : "") + row.verdict.message +
         " (flavor " + row.verdict.flavor + ")";
}

// Sentences joined by semicolons.
std::string Joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += (text.empty() ? "" : "; ") + sentence;
  return text;
}

// The nearest miss in one sentence; "" if the job does not lack quota.
std::string ShortText(const JobRecord& job, const NearestMiss& nearest) {
  std::vector<std::string> rows;
  for (const FlavorFinding* row : nearest.rows) {
    if (row->missing > 0) rows.push_back(RowText(*row, job.pod_sets->size() > 1));
  }
  return Joined(rows);
}

// Why no flavor can ever serve the job, flavor by flavor.
std::string NeverText(const ClusterQueue& queue, const std::vector<FlavorFinding>& flavors,
                      Reason reason) {
  std::vector<std::string> rows;
  for (const FlavorFinding& finding : flavors) {
    const FlavorVerdict& one = finding.verdict;
    if (one.reason != reason) continue;
    if (reason == Reason::kExceedsMaxQuota) {
      rows.push_back("needs " + FormatQuantity(one.resource, one.requested) + " " + one.resource +
                     " and " + queue.name + " can never use more than " +
                     FormatQuantity(one.resource, one.potential) + " of flavor " + one.flavor);
    } else {
      rows.push_back(one.message);
    }
  }
  return Joined(rows);
}

// What must become free, or must be changed, for each resource that is short.
void RowRemedies(const Snapshot& snapshot, const ClusterQueue& queue, const NearestMiss& nearest,
                 Explanation* explanation) {
  const QuotaTree& tree = snapshot.usage.tree();
  const NodeIndex node = tree.ClusterQueueIndex(queue.name);
  const auto add = [&](std::string text) { explanation->would_help.push_back(std::move(text)); };
  for (const FlavorFinding* row : nearest.rows) {
    if (row->missing == 0 || !nearest.possible) continue;
    const FlavorVerdict& one = row->verdict;
    add(FormatQuantity(one.resource, row->missing) + " more " + one.resource + " of flavor " +
        one.flavor + " free in " +
        BindingNode(snapshot.usage, node, tree.PairIndex(one.flavor, one.resource)));
  }
  // No flavor can ever serve some pod set: only a smaller request or another configuration would
  // help.
  if (nearest.possible) return;
  for (const FlavorFinding& finding : explanation->flavors) {
    const FlavorVerdict& one = finding.verdict;
    if (one.reason == Reason::kExceedsMaxQuota) {
      add("a smaller request than " + FormatQuantity(one.resource, one.requested) + " " +
          one.resource + ", or more quota of flavor " + one.flavor + ": " + finding.limit);
    } else if (one.reason == Reason::kNoMatchingFlavor && one.flavor.empty()) {
      add("a resource group of ClusterQueue " + queue.name + " that covers " + one.resource);
    } else if (one.reason == Reason::kNoMatchingFlavor) {
      add("pods that flavor " + one.flavor + " can host: " + one.message);
    }
  }
}

// The holders whose end may help for this reason: those of the contested pairs, or those on members
// that could hold the job.
std::vector<HolderPtr> InTheWay(const Snapshot& snapshot, const JobRecord& job, Reason reason,
                                const NearestMiss& nearest, const Explanation& explanation) {
  const QuotaTree& tree = snapshot.usage.tree();
  const NodeIndex node = tree.ClusterQueueIndex(job.cluster_queue);
  if (reason == Reason::kWaitingForQuota && !nearest.contested.empty()) {
    return HoldersOfPairs(snapshot, node, nearest.contested);
  }
  std::vector<HolderPtr> found;
  if (snapshot.holders == nullptr) return found;
  // Room on members: only holders on a member that could hold the job can help by ending.
  std::set<std::string> eligible;
  for (const ClusterVerdict& verdict : explanation.clusters) {
    if (verdict.eligible) eligible.insert(verdict.cluster);
  }
  for (NodeIndex at = 0; static_cast<std::size_t>(at) < tree.node_count(); ++at) {
    if (!tree.node(at).is_cluster_queue) continue;
    for (const HolderPtr& holder : snapshot.holders->Of(at)) {
      if (eligible.empty() || eligible.contains(holder->job->cluster)) found.push_back(holder);
    }
  }
  return found;
}

// The changes that would help, by reason.
void Remedies(Trial* trial, const ClusterQueue& queue, const JobPtr& job, Reason reason,
              const NearestMiss& nearest, Explanation* explanation) {
  const auto add = [&](std::string text) { explanation->would_help.push_back(std::move(text)); };
  switch (reason) {
    case Reason::kWaitingForPreemptedWorkloads:
      add("the pods of " +
          (explanation->preemption.victims.empty()
               ? "the workloads that are being preempted"
               : MentionsOf(explanation->preemption.victims,
                            explanation->preemption.victims.size())) +
          " being gone");
      return;
    case Reason::kNoMemberCluster:
    case Reason::kWaitingForCapacity:
      for (const ClusterVerdict& verdict : explanation->clusters) {
        add("member cluster " + verdict.cluster +
            (verdict.eligible ? " having room: " : " being able to hold it: ") + verdict.message);
      }
      if (reason == Reason::kNoMemberCluster) return;
      break;
    case Reason::kWaitingForPodsReady:
      add("all admitted jobs having their pods ready (waitForPodsReady.blockAdmission)");
      return;
    case Reason::kExceedsMaxQuota:
    case Reason::kNoMatchingFlavor:
      RowRemedies(trial->snapshot(), queue, nearest, explanation);
      return;
    default:
      RowRemedies(trial->snapshot(), queue, nearest, explanation);
      break;
  }
  const auto ends =
      EndsThatHelp(trial, job, InTheWay(trial->snapshot(), *job, reason, nearest, *explanation));
  for (const std::string& sentence : ends) add(sentence);
}

// The job would be admitted if it were alone: it waits for its turn.
void ExplainFitting(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation) {
  if (snapshot.clusters.empty() && job.reason == Reason::kNoMemberCluster) {
    SetVerdict(explanation, job.reason, job.message);
    explanation->would_help.push_back("a member cluster: musterd --local-cluster NAME");
    return;
  }
  // The last verdict of the scheduler is worth showing if there was one.
  const bool looked_at = job.reason != Reason::kNone && job.reason != Reason::kPendingEvaluation;
  if (looked_at) explanation->message = job.message;
  if (explanation->place.blocker != nullptr) {
    SetVerdict(explanation, Reason::kPendingEvaluation, explanation->place.blocked);
    explanation->would_help.push_back(MentionOf(*explanation->place.blocker) +
                                      " starting or leaving the queue");
    return;
  }
  SetVerdict(explanation, Reason::kPendingEvaluation,
             "quota and a member cluster are free for it; the next cycle decides");
}

// If quota is enough and machines are not, everything that the job asks for is contested.
NearestMiss AskedOf(const NearestMiss& nearest, const QuotaTree& tree, const Plan& plan) {
  NearestMiss asked = nearest;
  if (!nearest.contested.empty() || plan.not_admitted.empty()) return asked;
  const auto& assignment = plan.not_admitted.front().assignment;
  if (assignment == nullptr || assignment->Mode() != FlavorMode::kPreempt) return asked;
  asked.requests = assignment->usage;
  asked.contested = assignment->Contested(tree);
  return asked;
}

void ExplainMisfit(Trial* trial, const ClusterQueue& queue, const JobPtr& job, const Plan& plan,
                   const NearestMiss& missed, Explanation* explanation) {
  const NearestMiss nearest = AskedOf(missed, trial->snapshot().usage.tree(), plan);
  // Without a verdict in the plan nothing was decided about the job.
  Reason reason = Reason::kPendingEvaluation;
  if (!plan.not_admitted.empty()) {
    reason = plan.not_admitted.front().reason;
    explanation->message = plan.not_admitted.front().message;
  }
  explanation->preemption = ExplainPreemption(trial, queue, job, nearest, plan);
  std::string summary;
  if (reason == Reason::kExceedsMaxQuota || reason == Reason::kNoMatchingFlavor) {
    summary = NeverText(queue, explanation->flavors, reason);
  } else if (reason == Reason::kWaitingForPreemptedWorkloads) {
    summary = explanation->preemption.outcome;
  } else if (reason == Reason::kWaitingForQuota) {
    summary = ShortText(*job, nearest);
  }
  if (summary.empty()) summary.swap(explanation->message);
  SetVerdict(explanation, reason, std::move(summary));
  Remedies(trial, queue, job, reason, nearest, explanation);
}

}  // namespace

void ExplainPending(const ExplainInput& input, Explanation* explanation) {
  const Snapshot& snapshot = input.snapshot;
  const JobRecord& job = *input.job;
  SayHistory(job, snapshot.now, explanation);
  SayPlacement(snapshot, job, explanation);
  SayNever(snapshot, job, explanation);
  if (ExplainShut(input, explanation)) return;
  explanation->place = PlaceInQueue(input);
  if (job.pod_sets == nullptr) return;
  const ClusterQueue& queue = snapshot.config->cluster_queues.at(job.cluster_queue);
  explanation->flavors = FindFlavors(snapshot, queue, job);
  const NearestMiss nearest = NearestOf(snapshot.usage.tree(), queue, explanation->flavors);
  Trial trial(snapshot);
  const Plan plan = trial.Ask(input.job);
  // Members are compared for the flavors that Decide chose, else for those that come nearest.
  const AdmissionPtr admission =
      plan.admits.empty() ? WouldHold(job, nearest) : plan.admits.front().admission;
  explanation->clusters = CompareMembers(snapshot, job, admission.get());
  if (plan.admits.empty()) {
    ExplainMisfit(&trial, queue, input.job, plan, nearest, explanation);
  } else {
    ExplainFitting(snapshot, job, explanation);
  }
}

}  // namespace muster::core
