// JobExplanation as muster.v1.Explanation, part by part, with the same content as the JSON of
// api/service/explain_json.cc. A part that does not apply (preemption, estimated start) is absent;
// amounts are Kubernetes quantities.
#include "api/grpc/convert_explain.h"

#include "api/grpc/convert.h"
#include "schedd/base/quantity.h"

namespace muster::api {
namespace {

// A short mention of a job, not the job view.
void MentionToProto(const JobRecord& job, v1::JobMention* out) {
  out->set_id(job.id.value);
  out->set_namespace_(job.ns);
  out->set_name(job.name);
  out->set_cluster_queue(job.cluster_queue);
  out->set_queue(job.local_queue);
  out->set_priority(job.priority);
  out->set_state(std::string(JobStateName(job.state)));
  out->set_reason(std::string(ReasonName(job.reason)));
  out->set_message(job.message);
}

// One flavor tried for one resource. Without a resource the flavor as a whole did not match, and
// there are no amounts.
void FlavorToProto(const core::FlavorFinding& finding, v1::FlavorVerdict* out) {
  const core::FlavorVerdict& verdict = finding.verdict;
  out->set_pod_set(verdict.pod_set);
  out->set_flavor(verdict.flavor);
  out->set_resource(verdict.resource);
  out->set_reason(std::string(ReasonName(verdict.reason)));
  out->set_message(verdict.message);
  out->set_chosen(finding.chosen);
  if (verdict.resource.empty()) return;
  const auto amount = [&](std::int64_t value) { return FormatQuantity(verdict.resource, value); };
  out->set_requested(amount(verdict.requested));
  out->set_available(amount(verdict.available));
  out->set_potential(amount(verdict.potential));
  out->set_used(amount(verdict.used));
  out->set_nominal(amount(verdict.nominal));
  out->set_missing(amount(finding.missing));
  out->set_limit(finding.limit);
}

// One member: whether the job may go there, whether it fits now, and how it scores.
void ClusterToProto(const core::ClusterVerdict& verdict, v1::ClusterVerdict* out) {
  out->set_cluster(verdict.cluster);
  out->set_eligible(verdict.eligible);
  out->set_fits_now(verdict.fits_now);
  out->set_message(verdict.message);
  out->set_filter(verdict.filter);
  out->set_affinity_score(verdict.affinity_score);
  out->set_spread_score(verdict.spread_score);
  for (const core::ScoreTerm& term : verdict.terms) {
    v1::ScoreTerm* item = out->add_terms();
    item->set_term(term.term);
    item->set_weight(term.weight);
    item->set_score(term.score);
  }
}

// The workloads that hold what the job lacks, and which of them it preempts.
void PreemptionToProto(const core::PreemptionFinding& finding, v1::PreemptionVerdict* out) {
  out->set_policies(finding.policies);
  out->set_outcome(finding.outcome);
  for (const JobPtr& job : finding.victims) MentionToProto(*job, out->add_victims());
  for (const core::QueueHolders& held : finding.held_by) {
    v1::HeldBy* item = out->add_held_by();
    item->set_cluster_queue(held.cluster_queue);
    item->set_own(held.own);
    item->set_workloads(static_cast<std::int64_t>(held.workloads));
    item->set_allowed(static_cast<std::int64_t>(held.allowed));
    for (const auto& [resource, amount] : held.amounts) {
      (*item->mutable_amounts())[resource] = FormatQuantity(resource, amount);
    }
    for (const JobPtr& job : held.first) MentionToProto(*job, item->add_jobs());
    item->set_verdict(held.verdict);
  }
  out->set_more_queues(static_cast<std::int64_t>(finding.more_queues));
  for (const std::string& sentence : finding.would_allow) out->add_would_allow(sentence);
}

// The estimate of the start; `latest` is absent if there is no bound.
void StartToProto(const StartEstimate& start, v1::EstimatedStart* out) {
  if (start.latest) SetTime(*start.latest, out->mutable_latest());
  out->set_text(start.text);
  for (const JobPtr& job : start.without_limit) MentionToProto(*job, out->add_without_limit());
  for (const std::string& one : start.assumptions) out->add_assumptions(one);
}

// The job's position in its ClusterQueue and LocalQueue.
void PlaceToProto(const core::QueuePlace& place, v1::Explanation* out) {
  out->set_position(static_cast<std::int64_t>(place.position));
  out->set_waiting(static_cast<std::int64_t>(place.waiting));
  out->set_local_position(static_cast<std::int64_t>(place.local_position));
  out->set_local_waiting(static_cast<std::int64_t>(place.local_waiting));
  for (const JobPtr& job : place.ahead) MentionToProto(*job, out->add_ahead());
  if (place.blocker != nullptr) MentionToProto(*place.blocker, out->mutable_blocked_by());
  out->set_blocked(place.blocked);
}

}  // namespace

void ToProto(const JobExplanation& explained, v1::Explanation* out) {
  const core::Explanation& why = explained.why;
  SetTime(explained.now, out->mutable_time());
  out->set_state(std::string(JobStateName(why.state)));
  out->set_reason(why.reason);
  out->set_summary(why.summary);
  out->set_message(why.message);
  for (const std::string& fact : why.facts) out->add_facts(fact);
  PlaceToProto(why.place, out);
  for (const core::FlavorFinding& finding : why.flavors) {
    FlavorToProto(finding, out->add_flavors());
  }
  for (const core::ClusterVerdict& verdict : why.clusters) {
    ClusterToProto(verdict, out->add_clusters());
  }
  if (why.preemption.asked) PreemptionToProto(why.preemption, out->mutable_preemption());
  for (const std::string& sentence : why.would_help) out->add_would_help(sentence);
  if (explained.start.asked) StartToProto(explained.start, out->mutable_estimated_start());
}

}  // namespace muster::api
