// Resource checks: what a waiting job's pods ask for depends on LimitRanges and RuntimeClasses
// (rule A5). It is measured at submission; when one of these objects changes, waiting jobs
// are measured again, some a step, because their manifests have to be read.
#include <algorithm>

#include "schedd/engine/impl.h"
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

void Engine::Impl::RecheckWaiting(const std::set<std::string>& namespaces, bool all) {
  std::set<JobId> waiting(to_recheck.begin(), to_recheck.end());
  for (const auto& [id, job] : live.jobs) {
    if (Waits(*job) && (all || namespaces.contains(job->ns))) waiting.insert(id);
  }
  to_recheck.assign(waiting.begin(), waiting.end());
}

// A daemon that died may not have come to the end of it.
void Engine::Impl::RecheckAfterRecovery() {
  std::set<std::string> bound;
  for (const auto& [key, range] : live.config->limit_ranges) bound.insert(key.first);
  const bool all = !live.config->runtime_classes.empty();
  for (const auto& [id, job] : live.jobs) {
    if (!StateOf(*job).resource_problem.empty()) to_recheck.push_back(id);
  }
  RecheckWaiting(bound, all);
}

void Engine::Impl::RecheckNew(const JobRecord& job) {
  const bool measured = !live.config->limit_ranges.empty() || !live.config->runtime_classes.empty();
  if (measured || !StateOf(job).resource_problem.empty()) to_recheck.push_back(job.id);
}

bool Engine::Impl::Recheck() {
  std::vector<JobId> ids;
  while (!to_recheck.empty() && ids.size() < kRechecksAtOnce) {
    const JobId id = to_recheck.front();
    to_recheck.pop_front();
    const auto found = live.jobs.find(id);
    if (found != live.jobs.end() && Waits(*found->second)) ids.push_back(id);
  }
  if (ids.empty()) return false;
  const auto manifests = store.ReadManifests(ids);
  if (!manifests.ok()) {
    Log(LogLevel::kWarning, "engine", "recheck_waits", {{"err", manifests.error().detail}});
    to_recheck.insert(to_recheck.begin(), ids.begin(), ids.end());
    return false;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) TakeRequests(live.jobs.at(ids[i]), (*manifests)[i]);
  return true;
}

void Engine::Impl::TakeRequests(const JobPtr& job, const std::string& manifest) {
  auto document = ParseJson(manifest);
  auto parsed = document.ok() ? shapes::ParseJob(std::move(document).value())
                              : Result<shapes::ParsedJob>(document.error());
  if (!parsed.ok()) {  // another version of the daemon took it: what it measured stays
    Log(LogLevel::kWarning, "engine", "recheck_unreadable",
        {{"job", job->id.value}, {"err", parsed.error().detail}});
    return;
  }
  const std::string problem =
      shapes::PrepareRequests(*live.config, *options.settings, job->ns, &parsed.value());
  const bool same =
      std::equal(job->pod_sets->begin(), job->pod_sets->end(), parsed->pod_sets.begin(),
                 parsed->pod_sets.end(), [](const PodSet& a, const PodSet& b) {
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
    tx.respecified.insert(job->id);
  }
  changes::SayWhyItWaits(draft.get());
  const bool queued = live.pending.Remove(job->id);
  const JobPtr changed = Put(job, std::move(draft), "JobMeasured");
  if (queued) live.pending.Add(changed, clock.WallNow());
}

}  // namespace muster
