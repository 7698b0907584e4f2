// Use cases that ask a member cluster: a job's pods, its events there, and its logs. Holds these
// methods of SchedulerService. They block on the member. What is read belongs to the job's current
// attempt, or to the last one that ran on a member if there is no current one.
#include <algorithm>

#include "api/service/job_rights.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "schedd/base/limits.h"

namespace muster::api {

Result<DispatchKey> SchedulerService::LatestAttempt(const JobRecord& job) const {
  if (job.attempt > 0 && !job.cluster.empty())
    return DispatchKey{job.uid, job.attempt, job.cluster};
  const Result<std::vector<AttemptRecord>> attempts = store_.ReadAttempts({job.id});
  if (!attempts.ok()) return attempts.error();
  const AttemptRecord* last = nullptr;
  for (const AttemptRecord& attempt : *attempts) {
    if (attempt.cluster.empty()) continue;
    if (last == nullptr || attempt.attempt > last->attempt) last = &attempt;
  }
  // No attempt of the job has reached a member.
  if (last == nullptr) {
    return Error{Code::kFailedPrecondition,
                 "job " + std::to_string(job.id.value) + " has not run on a member cluster"};
  }
  return DispatchKey{job.uid, last->attempt, last->cluster};
}

Result<Backend*> SchedulerService::BackendOf(const DispatchKey& key) const {
  Backend* backend = backends_ ? backends_(key.cluster) : nullptr;
  if (backend == nullptr)
    return Unavailable("member cluster \"" + key.cluster + "\" is not connected");
  return backend;
}

template <class Item>
Result<std::vector<Item>> SchedulerService::OfMember(
    const auth::Principal& who, const std::string& id,
    Result<std::vector<Item>> (Backend::*read)(const DispatchKey&)) const {
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  const Result<DispatchKey> key = LatestAttempt(**job);
  if (!key.ok()) {
    // A job that has not run has no pods and no events.
    if (key.error().code == Code::kFailedPrecondition) return std::vector<Item>{};
    return key.error();
  }
  const Result<Backend*> backend = BackendOf(*key);
  if (!backend.ok()) return backend.error();
  Result<std::vector<Item>> items =
      member_reads_.Ask(clock_, key->cluster, [&] { return ((*backend)->*read)(*key); });
  // A job that waits again has no pods: the member removed those of the last attempt with it.
  const bool waits = !IsTerminal((*job)->state) && !HoldsQuota((*job)->state);
  if (!items.ok() && waits && items.error().code == Code::kNotFound) return std::vector<Item>{};
  return items;
}

Result<std::vector<PodStatus>> SchedulerService::Pods(const auth::Principal& who,
                                                      const std::string& id) const {
  return OfMember(who, id, &Backend::Pods);
}

Result<std::vector<MemberEvent>> SchedulerService::MemberEvents(const auth::Principal& who,
                                                                const std::string& id) const {
  return OfMember(who, id, &Backend::Events);
}

Result<shapes::ContainersBySet> SchedulerService::Containers(const auth::Principal& who,
                                                             const std::string& id) const {
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  const Result<json::value> manifest = ManifestOf(**job);
  if (!manifest.ok()) return manifest.error();
  return shapes::ContainersOf(**job, *manifest);
}

// More of a log is asked for without a note; if the right is gone, the second question says so and
// notes the refusal.
Result<JobPtr> SchedulerService::JobToLog(const auth::Principal& who, const std::string& id,
                                          LogAsk ask) const {
  if (ask == LogAsk::kMore) {
    const auto may = [&](const JobRecord& job) {
      return JobAllows(authorizer_, who, auth::Verb::kGet, job, kLogSubresource);
    };
    Result<JobPtr> job = FindJob(id, may);
    if (job.ok() && may(**job)) return job;
  }
  return JobFor(who, id, auth::Verb::kGet, kLogSubresource);
}

Result<LogChunk> SchedulerService::ReadLog(const auth::Principal& who, const std::string& id,
                                           const LogQuery& query, LogAsk ask) const {
  const Result<JobPtr> job = JobToLog(who, id, ask);
  if (!job.ok()) return job.error();
  const Result<DispatchKey> key = LatestAttempt(**job);
  if (!key.ok()) return key.error();
  const Result<Backend*> backend = BackendOf(*key);
  if (!backend.ok()) return backend.error();
  // One read of a member's log is bounded whatever the caller asks for.
  LogQuery bounded = query;
  bounded.max_bytes = std::min(query.max_bytes, limits::kLogReadBytes);
  return member_reads_.Ask(clock_, key->cluster,
                           [&] { return (*backend)->ReadLog(*key, bounded); });
}

}  // namespace muster::api
