// Waiting jobs are measured again when a LimitRange or RuntimeClass changes (rule A5). A check
// reads the job's manifest from the store and prepares its requests as a submission does. If they
// differ from the record, the record and its row of pod sets are written, and the job takes its
// place in the queue anew, because it is equal to other jobs than before. The defaults are those of
// today, not those of the submission (rule A5, "Differs"). A job that holds quota keeps what it was
// charged. A job that a LimitRange does not allow waits as Misconfigured with Kueue's sentence.
//
// Manifests are read some at a time, in steps between which the loop goes on; no cycle decides
// until all are done, because it would admit jobs with old requests. If the database does not
// answer, the jobs stay in `due_` and the loop tries again after a second.
#include "schedd/engine/jobs/resource_checks.h"

#include <algorithm>

#include "schedd/model/admission_lifecycle.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

// Some milliseconds, with the read of the manifests.
constexpr std::size_t kRechecksAtOnce = 256;

bool Waits(const JobRecord& job) {
  return job.state == JobState::kPending || job.state == JobState::kHeld;
}

}  // namespace

// A set first, so that each job is due once and in id order.
void ResourceChecks::Recheck(const std::set<std::string>& namespaces, bool all) {
  std::set<JobId> waiting(due_.begin(), due_.end());
  for (const auto& [id, job] : jobs_.all()) {
    if (Waits(*job) && (all || namespaces.contains(job->ns))) waiting.insert(id);
  }
  due_.assign(waiting.begin(), waiting.end());
}

// The daemon that died may not have finished, and which jobs were due is not stored: all jobs in
// namespaces with LimitRanges, all jobs if there are RuntimeClasses, and all that have a problem
// are measured again.
void ResourceChecks::RecheckAfterRecovery() {
  std::set<std::string> bound;
  for (const auto& [key, range] : config_.view()->limit_ranges) bound.insert(key.first);
  const bool all = !config_.view()->runtime_classes.empty();
  for (const auto& [id, job] : jobs_.all()) {
    if (!StateOf(*job).resource_problem.empty()) due_.push_back(id);
  }
  Recheck(bound, all);
}

// Without LimitRanges and RuntimeClasses every configuration measures alike.
void ResourceChecks::RecheckNew(const JobRecord& job) {
  const bool measured =
      !config_.view()->limit_ranges.empty() || !config_.view()->runtime_classes.empty();
  if (measured || !StateOf(job).resource_problem.empty()) due_.push_back(job.id);
}

// One read for all manifests of a step. Jobs that do not wait any more are dropped.
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

// Compares what the manifest asks for today with the record, and changes the record if they differ.
void ResourceChecks::TakeRequests(const JobPtr& job, const std::string& manifest) {
  auto document = ParseJson(manifest);
  auto parsed = document.ok() ? shapes::ParseJob(std::move(document).value())
                              : Result<shapes::ParsedJob>(document.error());
  // Another version of the daemon accepted it: the requests that it measured stay.
  if (!parsed.ok()) {
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
