// JobExplanation as the JSON of GET /v1/jobs/{id}/explain. Every key is always present: a part that
// does not apply is null or empty. Amounts are Kubernetes quantities. api/grpc/convert_explain.cc
// writes the same as a protobuf message.
#include "api/service/explain_json.h"

#include "schedd/base/quantity.h"

namespace muster::api {
namespace {

// A short mention of a job, not the job view.
json::object JobJson(const JobRecord& job) {
  json::object out;
  out["id"] = job.id.value;
  out["namespace"] = job.ns;
  out["name"] = job.name;
  out["queue"] = job.local_queue;
  out["clusterQueue"] = job.cluster_queue;
  out["priority"] = job.priority;
  out["state"] = JobStateName(job.state);
  out["reason"] = ReasonName(job.reason);
  out["message"] = job.message;
  return out;
}

json::array JobsJson(const std::vector<JobPtr>& jobs) {
  json::array out;
  for (const JobPtr& job : jobs) out.push_back(JobJson(*job));
  return out;
}

json::array TextsJson(const std::vector<std::string>& texts) {
  json::array out;
  for (const std::string& text : texts) out.push_back(json::value(text));
  return out;
}

// One flavor tried for one resource. Without a resource the flavor as a whole did not match, and
// there are no amounts.
json::object FlavorJson(const core::FlavorFinding& finding) {
  const core::FlavorVerdict& verdict = finding.verdict;
  json::object out;
  out["podSet"] = verdict.pod_set;
  out["flavor"] = verdict.flavor;
  out["resource"] = verdict.resource;
  out["reason"] = ReasonName(verdict.reason);
  out["message"] = verdict.message;
  out["chosen"] = finding.chosen;
  if (verdict.resource.empty()) return out;
  const auto amount = [&](std::int64_t value) { return FormatQuantity(verdict.resource, value); };
  out["requested"] = amount(verdict.requested);
  out["available"] = amount(verdict.available);
  out["potential"] = amount(verdict.potential);
  out["used"] = amount(verdict.used);
  out["nominal"] = amount(verdict.nominal);
  out["missing"] = amount(finding.missing);
  out["limit"] = finding.limit;
  return out;
}

// One member: whether the job may go there, whether it fits now, and how it scores.
json::object ClusterJson(const core::ClusterVerdict& verdict) {
  json::object out;
  out["cluster"] = verdict.cluster;
  out["eligible"] = verdict.eligible;
  out["fitsNow"] = verdict.fits_now;
  out["message"] = verdict.message;
  out["filter"] = verdict.filter;
  json::array terms;
  for (const core::ScoreTerm& term : verdict.terms) {
    terms.push_back(
        json::object{{"term", term.term}, {"weight", term.weight}, {"score", term.score}});
  }
  out["affinityScore"] = verdict.affinity_score;
  out["spreadScore"] = verdict.spread_score;
  out["terms"] = std::move(terms);
  return out;
}

// The workloads of one ClusterQueue that hold what the job lacks.
json::object HeldByJson(const core::QueueHolders& held) {
  json::object amounts;
  for (const auto& [resource, amount] : held.amounts) {
    amounts[resource] = FormatQuantity(resource, amount);
  }
  json::object out;
  out["clusterQueue"] = held.cluster_queue;
  out["own"] = held.own;
  out["workloads"] = held.workloads;
  out["allowed"] = held.allowed;
  out["amounts"] = std::move(amounts);
  out["jobs"] = JobsJson(held.first);
  out["verdict"] = held.verdict;
  return out;
}

// Null if the job does not lack quota that others hold.
json::value PreemptionJson(const core::PreemptionFinding& finding) {
  if (!finding.asked) return nullptr;
  json::array held_by;
  for (const core::QueueHolders& held : finding.held_by) held_by.push_back(HeldByJson(held));
  json::object out;
  out["policies"] = finding.policies;
  out["outcome"] = finding.outcome;
  out["victims"] = JobsJson(finding.victims);
  out["heldBy"] = std::move(held_by);
  out["moreQueues"] = finding.more_queues;
  out["wouldAllow"] = TextsJson(finding.would_allow);
  return out;
}

// Null if the job does not wait.
json::value StartJson(const StartEstimate& start) {
  if (!start.asked) return nullptr;
  json::object out;
  out["latest"] = start.latest ? json::value(FormatRfc3339(*start.latest)) : json::value(nullptr);
  out["text"] = start.text;
  out["withoutLimit"] = JobsJson(start.without_limit);
  out["assumptions"] = TextsJson(start.assumptions);
  return out;
}

}  // namespace

json::object ExplanationJson(const JobExplanation& explained) {
  const core::Explanation& why = explained.why;
  json::array flavors, clusters;
  for (const core::FlavorFinding& finding : why.flavors) flavors.push_back(FlavorJson(finding));
  for (const core::ClusterVerdict& verdict : why.clusters) clusters.push_back(ClusterJson(verdict));
  json::object out;
  out["job"] = JobJson(*why.job);
  out["time"] = FormatRfc3339(explained.now);
  out["state"] = JobStateName(why.state);
  out["reason"] = why.reason;
  out["summary"] = why.summary;
  out["message"] = why.message;
  out["facts"] = TextsJson(why.facts);
  out["position"] = why.place.position;
  out["waiting"] = why.place.waiting;
  out["localPosition"] = why.place.local_position;
  out["localWaiting"] = why.place.local_waiting;
  out["ahead"] = JobsJson(why.place.ahead);
  out["blockedBy"] = why.place.blocker == nullptr ? json::value(nullptr)
                                                  : json::value(JobJson(*why.place.blocker));
  out["blocked"] = why.place.blocked;
  out["flavors"] = std::move(flavors);
  out["clusters"] = std::move(clusters);
  out["preemption"] = PreemptionJson(why.preemption);
  out["wouldHelp"] = TextsJson(why.would_help);
  out["estimatedStart"] = StartJson(explained.start);
  return out;
}

}  // namespace muster::api
