// A recheck reads the manifest of a waiting job again and prepares its requests as a submission
// does; if they differ from its record, the record and its row of pod sets are written anew and the
// job takes its place in the queue anew. Defaults are those of today, not those of the submission;
// a job that holds quota keeps what it was charged. A job that a range does not allow waits as
// Misconfigured with Kueue's sentence.
#include "schedd/engine/jobs/resource_checks.h"

#include <algorithm>

#include "schedd/shapes/kinds/preparation.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

constexpr std::size_t kRechecksAtOnce = 256;  // some milliseconds with the database

bool Waits(const JobRecord& job) {
  return job.state == JobState::kPending || job.state == JobState::kHeld;
}

}  // namespace

void ResourceChecks::Recheck(const std::set<std::string>& namespaces, bool all) {
  std::set<JobId> waiting(due_.begin(), due_.end());
  for (const auto& [id, job] : jobs_.all()) {
    if (Waits(*job) && (all || namespaces.contains(job->ns))) waiting.insert(id);
  }
  due_.assign(waiting.begin(), waiting.end());
}

// A daemon that died may not have come to the end of it.
void ResourceChecks::RecheckAfterRecovery() {
  std::set<std::string> bound;
  for (const auto& [key, range] : config_.view()->limit_ranges) bound.insert(key.first);
  const bool all = !config_.view()->runtime_classes.empty();
  for (const auto& [id, job] : jobs_.all()) {
    if (!StateOf(*job).resource_problem.empty()) due_.push_back(id);
  }
  Recheck(bound, all);
}

void ResourceChecks::RecheckNew(const JobRecord& job) {
  const bool measured =
      !config_.view()->limit_ranges.empty() || !config_.view()->runtime_classes.empty();
  if (measured || !StateOf(job).resource_problem.empty()) due_.push_back(job.id);
}

bool ResourceChecks::Fire() {
  std::vector<JobId> ids;
  while (!due_.empty() && ids.size() < kRechecksAtOnce) {
    const JobId id = due_.front();
    due_.pop_front();
    const JobPtr job = jobs_.Find(id);
    if (job != nullptr && Waits(*job)) ids.push_back(id);
  }
  if (ids.empty()) return false;
  const auto manifests = context_.store.ReadManifests(ids);
  if (!manifests.ok()) {
    Log(LogLevel::kWarning, "engine", "recheck_waits", {{"err", manifests.error().detail}});
    due_.insert(due_.begin(), ids.begin(), ids.end());
    return false;
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    TakeRequests(jobs_.all().at(ids[i]), (*manifests)[i]);
  return true;
}

void ResourceChecks::TakeRequests(const JobPtr& job, const std::string& manifest) {
  auto document = ParseJson(manifest);
  auto parsed = document.ok() ? shapes::ParseJob(std::move(document).value())
                              : Result<shapes::ParsedJob>(document.error());
  if (!parsed.ok()) {  // another version of the daemon took it: what it measured stays
    Log(LogLevel::kWarning, "engine", "recheck_unreadable",
        {{"job", job->id.value}, {"err", parsed.error().detail}});
    return;
  }
  const std::string problem =
      shapes::PrepareRequests(*config_.view(), context_.settings(), job->ns, &parsed.value());
  const bool same = std::equal(job->pod_sets->begin(), job->pod_sets->end(),
                               parsed->pod_sets.begin(), parsed->pod_sets.end(),
                               [](const PodSet& a, const PodSet& b) {
    const ResourceList none;
    const ResourceList& x = a.node_requests == nullptr ? none : *a.node_requests;
    const ResourceList& y = b.node_requests == nullptr ? none : *b.node_requests;
    return a.name == b.name && a.requests == b.requests && x == y;
  });
  if (same && problem == StateOf(*job).resource_problem) return;
  auto draft = std::make_shared<JobRecord>(*job);
  if (problem != StateOf(*job).resource_problem)
    ChangeState(draft.get(), [&](AdmissionState* state) { state->resource_problem = problem; });
  if (!same) {
    draft->pod_sets = std::make_shared<const PodSets>(std::move(parsed->pod_sets));
    commits_.tx().respecified.insert(job->id);
  }
  changes::SayWhyItWaits(draft.get());
  const bool queued = waiting_.Remove(job->id);
  const JobPtr changed = jobs_.Put(job, std::move(draft), "JobMeasured");
  if (queued) waiting_.Add(changed);
}

}  // namespace muster
