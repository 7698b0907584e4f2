// Retention: ended jobs leave memory after a while, and with ttlSecondsAfterFinished they and their
// objects go; idempotency keys are forgotten after a day. Also the other timer that is of no one
// job: the samples of admission fair sharing.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/impl.h"

namespace muster {
namespace {

constexpr std::size_t kTimersAtOnce = 1024;
constexpr std::size_t kFinishedAtOnce = 200;  // some milliseconds with the database
constexpr std::int64_t kTtlMaxS =
    10LL * 365 * 86'400;  // beyond ten years means never

}  // namespace

void Engine::Impl::ScheduleRetirement(const JobRecord& job) {
  const Monotonic now = clock.Now();
  // The stamp is only used as an age: a job that ended before a restart has spent part of its time
  // already.
  const std::int64_t age_ns =
      MicrosToNanos(std::max<std::int64_t>(0, SaturatingSub(clock.WallNow().us, job.end_time.us)));
  const auto due = [&](std::int64_t after_ns) {
    return now + std::max<std::int64_t>(0, SaturatingSub(after_ns, age_ns));
  };
  const std::int64_t kept_s = job.ttl_after_finished_s >= 0
                                  ? job.ttl_after_finished_s
                                  : options.settings->retain_finished_s.value_or(-1);
  if (kept_s >= 0 && kept_s <= kTtlMaxS) ttls.emplace(due(SecondsToNanos(kept_s)), job.id);
  retirements.emplace_back(due(MillisToNanos(options.finished_kept_ms)), job.id);
}

bool Engine::Impl::FireTimers() {
  bool fired = false;
  const Monotonic now = clock.Now();
  for (std::size_t i = 0; i < kTimersAtOnce && !ttls.empty() && ttls.begin()->first <= now; ++i) {
    const JobId id = ttls.begin()->second;
    ttls.erase(ttls.begin());
    const Result<JobPtr> job = FindOrLoad(id);
    if (job.ok() && IsTerminal((*job)->state)) Delete(*job, "ttlSecondsAfterFinished");
    if (!job.ok() && job.error().code != Code::kNotFound) {
      ttls.emplace(now + kNanosPerSecond, id);  // it cannot be read now
      break;
    }
    fired = true;
  }
  for (std::size_t i = 0; i < kTimersAtOnce && !retirements.empty(); ++i) {
    if (retirements.front().first > now && retirements.size() <= limits::kFinishedJobsKept) break;
    Retire(retirements.front().second);
    retirements.pop_front();
    fired = true;
  }
  if (now >= next_forgetting) {
    next_forgetting = now + limits::kForgetKeysEveryMs * kNanosPerMilli;
    tx.forget_keys_before = {clock.WallNow().us - limits::kIdempotencyKeysKeptMs * 1000};
    fired = true;
  }
  if (fair.on() && now >= next_fair_sample) {
    next_fair_sample = now + SecondsToNanos(fair.interval_s());
    fair.Sample(*live.config, clock.WallNow());
    PutFairUse();
    fired = dirty = true;
  }
  return fired;
}

void Engine::Impl::Retire(JobId id) {
  const auto found = live.jobs.find(id);
  // One that is being deleted stays until it is gone.
  if (found == live.jobs.end() || !IsTerminal(found->second->state) ||
      found->second->deletion_requested)
    return;
  Leave(found->second);
  committed.Erase(id);
  dirty = true;
}

// A job that ended long before this daemon started is read when there is time: its TTL runs on, and
// a removal that was under way goes on.
bool Engine::Impl::AdoptForgotten() {
  if (forgotten.empty()) return false;
  const JobId id = forgotten.front();
  const Result<JobPtr> loaded = FindOrLoad(id);
  if (!loaded.ok() && loaded.error().code != Code::kNotFound) return false;  // tried again later
  forgotten.pop_front();
  if (!loaded.ok() || live.jobs.contains(id)) return true;
  const JobPtr& job = *loaded;
  if (job->deletion_requested) {
    Enter(job);
    CleanUp(job);
  } else if (job->ttl_after_finished_s >= 0 || options.settings->retain_finished_s) {
    ScheduleRetirement(*job);
  }
  return true;
}

// A policy for finished jobs holds for all of them, however long ago they ended and whether a
// member still has their objects: they are looked for after a start, some a step.
bool Engine::Impl::AdoptFinished() {
  if (finished_after.empty()) return false;
  auto& [state, after] = finished_after.front();
  JobQuery query;
  query.state = state;
  query.after = after;
  query.limit = kFinishedAtOnce;
  const auto found = store.ReadJobs(query);
  if (!found.ok()) return false;  // tried again when there is something else to do
  for (const JobPtr& job : *found) {
    if (!live.jobs.contains(job->id)) ScheduleRetirement(*job);
    after = job->id;
  }
  if (found->size() < kFinishedAtOnce) finished_after.pop_front();
  return true;
}

}  // namespace muster
