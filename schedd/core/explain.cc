#include "schedd/core/explain.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/gates.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

void SetVerdict(Explanation* explanation, Reason reason, std::string summary) {
  explanation->reason = ReasonName(reason);
  explanation->summary = std::move(summary);
}

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

// What a closed gate asks for.
std::string GateRemedy(const GateVerdict& gate) {
  switch (gate.reason) {
    case Reason::kSuspended:
      return "the queue must be active again: " + gate.message;
    default:
      return "the configuration must be corrected: " + gate.message;
  }
}

// What would let a job run that waits for quota, one line for each flavor that could serve it.
void QuotaRemedies(const ClusterQueue& queue, Explanation* explanation) {
  for (const auto& verdict : explanation->flavors) {
    const auto amount = [&](std::int64_t value) { return FormatQuantity(verdict.resource, value); };
    if (verdict.reason == Reason::kWaitingForQuota) {
      explanation->would_help.push_back(
          queue.name + ": " + amount(SaturatingSub(verdict.requested, verdict.available)) +
          " more " + verdict.resource + " of flavor " + verdict.flavor + " must become free");
    } else if (verdict.reason == Reason::kExceedsMaxQuota) {
      explanation->would_help.push_back(
          queue.name + ": the most it can ever use of flavor " + verdict.flavor + " is " +
          amount(verdict.potential) + " " + verdict.resource + "; a quota of " +
          amount(verdict.requested) + " or a smaller request is needed");
    } else if (verdict.reason == Reason::kNoMatchingFlavor) {
      explanation->would_help.push_back(
          verdict.flavor.empty()
              ? queue.name + ": a resource group must cover " + verdict.resource
              : "flavor " + verdict.flavor + " must match the pods: " + verdict.message);
    }
  }
}

void PlaceVerdict(const Snapshot& snapshot, const JobRecord& job, const Assignment& assignment,
                  Explanation* explanation, bool* fits) {
  if (snapshot.clusters.empty()) return;
  PlacementDemand demand;
  demand.pod_sets = job.pod_sets.get();
  const AdmissionPtr admission = assignment.ToAdmission(job.cluster_queue);
  demand.admission = admission.get();
  demand.job_uid = job.uid;
  PlacementChoice choice = Place(*snapshot.config, snapshot.clusters, demand, true);
  explanation->clusters = std::move(choice.verdicts);
  if (!choice.cluster.empty()) return;
  *fits = false;
  SetVerdict(explanation, choice.reason, choice.message);
  for (const auto& verdict : explanation->clusters) {
    const char* what = verdict.eligible ? " must have room: " : " cannot hold it: ";
    explanation->would_help.push_back("member cluster " + verdict.cluster + what + verdict.message);
  }
}

void ExplainFitting(const ClusterQueue& queue, std::size_t position, Explanation* explanation) {
  const bool behind = position > 1 && queue.strategy == QueueingStrategy::kStrictFifo;
  if (!behind) {
    SetVerdict(explanation, Reason::kPendingEvaluation,
               "quota and a member cluster are free for it; the next cycle decides");
    return;
  }
  const std::string before = std::to_string(position - 1);
  SetVerdict(explanation, Reason::kPendingEvaluation,
             "StrictFIFO ClusterQueue " + queue.name + " tries the " + before +
                 (position == 2 ? " job" : " jobs") + " before it first");
  explanation->would_help.push_back(queue.name + ": the " + before +
                                    (position == 2 ? " job" : " jobs") +
                                    " before it must start or leave the queue");
}

void ExplainPending(const Snapshot& snapshot, const JobRecord& job, Explanation* explanation) {
  const ConfigView& config = *snapshot.config;
  auto gate = QueueGate(config, *snapshot.settings, snapshot.usage.tree(), job.cluster_queue);
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  if (!gate && queue != config.cluster_queues.end()) gate = JobGate(config, queue->second, job);
  if (gate) {
    SetVerdict(explanation, gate->reason, gate->message);
    explanation->would_help.push_back(GateRemedy(*gate));
    return;
  }
  if (!job.pod_sets) return;
  AssignRequest request;
  request.verdicts = &explanation->flavors;
  const Assignment assignment = AssignFlavors(config, *snapshot.settings, snapshot.usage,
                                              queue->second, job, nullptr, request);
  if (assignment.Mode() != FlavorMode::kFit) {
    const Reason reason = assignment.no_fit_reason == Reason::kNone ? Reason::kWaitingForQuota
                                                                    : assignment.no_fit_reason;
    SetVerdict(explanation, reason, assignment.Message());
    QuotaRemedies(queue->second, explanation);
    return;
  }
  bool fits = true;
  PlaceVerdict(snapshot, job, assignment, explanation, &fits);
  if (fits) ExplainFitting(queue->second, explanation->position, explanation);
}

void ExplainRunning(const JobRecord& job, Explanation* explanation) {
  std::string summary = job.state == JobState::kRunning ? "runs" : "is admitted";
  if (!job.cluster.empty()) summary += " on member cluster " + job.cluster;
  if (job.admission) {
    summary += "; ClusterQueue " + job.admission->cluster_queue + " reserved " +
               FlavorsText(*job.admission);
  }
  SetVerdict(explanation, job.reason, std::move(summary));
}

// It holds quota; what is left are others' answers.
void ExplainReserved(const JobRecord& job, Explanation* explanation) {
  std::string waits;
  for (const auto& check : StateOf(job).checks) {
    if (check.state == CheckState::kReady) continue;
    waits += (waits.empty() ? "" : ", ") + check.name + " (" +
             std::string(CheckStateName(check.state)) + ")";
    explanation->would_help.push_back("admission check " + check.name + " must become Ready" +
                                      (check.message.empty() ? "" : ": " + check.message));
  }
  std::string summary = waits.empty() ? "holds quota; where its pods go is still open"
                                      : "holds quota and waits for admission checks: " + waits;
  if (job.admission) summary += "; reserved " + FlavorsText(*job.admission);
  SetVerdict(explanation, job.reason, std::move(summary));
}

}  // namespace

Explanation Explain(const Snapshot& snapshot, const JobRecord& job, std::size_t position) {
  Explanation explanation;
  explanation.state = job.state;
  switch (job.state) {
    case JobState::kHeld:
      SetVerdict(&explanation, Reason::kHeldByUser, "is held by its user");
      explanation.would_help.push_back("it must be released: muster release " +
                                       std::to_string(job.id.value));
      break;
    case JobState::kPending:
      explanation.position = position;
      ExplainPending(snapshot, job, &explanation);
      break;
    case JobState::kReserved:
      ExplainReserved(job, &explanation);
      break;
    case JobState::kAdmitted:
    case JobState::kRunning:
      ExplainRunning(job, &explanation);
      break;
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kCancelled:
      SetVerdict(&explanation, job.reason, job.message);
      break;
  }
  return explanation;
}

}  // namespace muster::core
