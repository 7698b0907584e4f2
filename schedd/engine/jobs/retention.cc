// Times of retention count from a job's end, whatever happened to the daemon since: the stamp of
// the end is used as an age only, so a job that ended before a restart has spent part of its time
// already. Ended jobs that a start did not load are read when there is nothing else to do.
#include "schedd/engine/jobs/retention.h"

#include <algorithm>

#include "schedd/base/limits.h"

namespace muster {
namespace {

constexpr std::size_t kTimersAtOnce = 1024;
// Some milliseconds with the database.
constexpr std::size_t kFinishedAtOnce = 200;
// A TTL beyond ten years means never.
constexpr std::int64_t kTtlMaxS = 10LL * 365 * 86'400;

}  // namespace

void Retention::Reset() {
  forgotten_.clear();
  finished_after_.clear();
  if (context_.settings().retain_finished_s) {
    finished_after_ = {
        {JobState::kSucceeded, {}}, {JobState::kFailed, {}}, {JobState::kCancelled, {}}};
  }
  ttls_.clear();
  retirements_.clear();
  next_forgetting_ = context_.clock.Now() + limits::kForgetKeysEveryMs * kNanosPerMilli;
}

void Retention::Schedule(const JobRecord& job) {
  const Monotonic now = context_.clock.Now();
  const std::int64_t age_ns = MicrosToNanos(
      std::max<std::int64_t>(0, SaturatingSub(context_.clock.WallNow().us, job.end_time.us)));
  const auto due = [&](std::int64_t after_ns) {
    return now + std::max<std::int64_t>(0, SaturatingSub(after_ns, age_ns));
  };
  const std::int64_t kept_s = job.ttl_after_finished_s >= 0
                                  ? job.ttl_after_finished_s
                                  : context_.settings().retain_finished_s.value_or(-1);
  if (kept_s >= 0 && kept_s <= kTtlMaxS) ttls_.emplace(due(SecondsToNanos(kept_s)), job.id);
  retirements_.emplace_back(due(MillisToNanos(context_.options.finished_kept_ms)), job.id);
}

bool Retention::Fire() {
  const Monotonic now = context_.clock.Now();
  const bool deleted = FireTtls(now);
  const bool retired = FireRetirements(now);
  if (now < next_forgetting_) return deleted || retired;
  next_forgetting_ = now + limits::kForgetKeysEveryMs * kNanosPerMilli;
  commits_.tx().forget_keys_before = {context_.clock.WallNow().us -
                                      limits::kIdempotencyKeysKeptMs * 1000};
  return true;
}

bool Retention::FireTtls(Monotonic now) {
  bool fired = false;
  for (std::size_t i = 0; i < kTimersAtOnce && !ttls_.empty() && ttls_.begin()->first <= now; ++i) {
    const JobId id = ttls_.begin()->second;
    ttls_.erase(ttls_.begin());
    const Result<JobPtr> job = commands_.FindOrLoad(id);
    if (job.ok() && IsTerminal((*job)->state)) commands_.Delete(*job, "ttlSecondsAfterFinished");
    if (!job.ok() && job.error().code != Code::kNotFound) {
      ttls_.emplace(now + kNanosPerSecond, id);  // it cannot be read now
      break;
    }
    fired = true;
  }
  return fired;
}

bool Retention::FireRetirements(Monotonic now) {
  bool fired = false;
  for (std::size_t i = 0; i < kTimersAtOnce && !retirements_.empty(); ++i) {
    if (retirements_.front().first > now && retirements_.size() <= limits::kFinishedJobsKept) break;
    Retire(retirements_.front().second);
    retirements_.pop_front();
    fired = true;
  }
  return fired;
}

Monotonic Retention::Next() const {
  Monotonic next = next_forgetting_;
  if (!ttls_.empty()) next = std::min(next, ttls_.begin()->first);
  if (!retirements_.empty()) next = std::min(next, retirements_.front().first);
  return next;
}

void Retention::Retire(JobId id) {
  const JobPtr job = jobs_.Find(id);
  // One that is being deleted stays until it is gone.
  if (job == nullptr || !IsTerminal(job->state) || job->deletion_requested) return;
  jobs_.Leave(job);
  commits_.Forget(id);
}

bool Retention::Adopt() {
  const bool forgotten = AdoptForgotten();
  return AdoptFinished() || forgotten;
}

// A job that ended long before this daemon started is read when there is time: its TTL runs on, and
// a removal that was under way goes on.
bool Retention::AdoptForgotten() {
  if (forgotten_.empty()) return false;
  const JobId id = forgotten_.front();
  const Result<JobPtr> loaded = commands_.FindOrLoad(id);
  if (!loaded.ok() && loaded.error().code != Code::kNotFound) return false;  // tried again later
  forgotten_.pop_front();
  if (!loaded.ok() || jobs_.all().contains(id)) return true;
  const JobPtr& job = *loaded;
  if (job->deletion_requested) {
    jobs_.Enter(job);
    attempts_.CleanUp(job);
  } else if (job->ttl_after_finished_s >= 0 || context_.settings().retain_finished_s) {
    Schedule(*job);
  }
  return true;
}

// A policy for finished jobs holds for all of them, however long ago they ended and whether a
// member still has their objects: they are looked for after a start, some a step.
bool Retention::AdoptFinished() {
  if (finished_after_.empty()) return false;
  auto& [state, after] = finished_after_.front();
  JobQuery query;
  query.state = state;
  query.after = after;
  query.limit = kFinishedAtOnce;
  const auto found = context_.store.ReadJobs(query);
  if (!found.ok()) return false;  // tried again when there is something else to do
  for (const JobPtr& job : *found) {
    if (!jobs_.all().contains(job->id)) Schedule(*job);
    after = job->id;
  }
  if (found->size() < kFinishedAtOnce) finished_after_.pop_front();
  return true;
}

}  // namespace muster
