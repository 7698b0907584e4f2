// What happens to jobs after their end. Two times count from the end of each job: after
// finished_kept_ms it leaves memory (retirement; the database keeps it), and after its TTL it is
// deleted with its objects (rule A54). The wall-clock stamp of the end is used as an age only, so a
// job that ended before a restart has spent part of its time already.
//
// After a start some ended jobs are not in memory. Those whose attempts still have rows come by
// AddForgotten, because a deletion may have been under way. If a policy sets a TTL for all ended
// jobs, all of them are read, page by page and state by state (AdoptFinished). Both read a little
// in each step.
//
// Old idempotency keys are forgotten every limits::kForgetKeysEveryMs.
#include "schedd/engine/jobs/retention.h"

#include <algorithm>

#include "schedd/base/limits.h"

namespace muster {
namespace {

// Jobs that one step deletes or retires.
constexpr std::size_t kTimersAtOnce = 1024;
// One page of ended jobs: some milliseconds with the database.
constexpr std::size_t kFinishedAtOnce = 200;
// A TTL beyond ten years means never.
constexpr std::int64_t kTtlMaxS = 10LL * 365 * 86'400;

}  // namespace

// With a policy for all ended jobs the search for them begins anew in each terminal state.
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

// The job's own TTL goes before the policy of the configuration; -1 means none.
void Retention::Schedule(const JobRecord& job) {
  const Monotonic now = context_.clock.Now();
  const std::int64_t age_ns = MicrosToNanos(
      std::max<std::int64_t>(0, SaturatingSub(context_.clock.WallNow().us, job.end_time.us)));
  const auto due = [&](std::int64_t after_ns) {
    return now + std::max<std::int64_t>(0, SaturatingSub(after_ns, age_ns));
  };
  const EndedJob ended{job.id, job.end_time};
  const std::int64_t kept_s = job.ttl_after_finished_s >= 0
                                  ? job.ttl_after_finished_s
                                  : context_.settings().retain_finished_s.value_or(-1);
  if (kept_s >= 0 && kept_s <= kTtlMaxS) ttls_.emplace(due(SecondsToNanos(kept_s)), ended);
  retirements_.emplace_back(due(MillisToNanos(context_.options.finished_kept_ms)), ended);
}

// True if anything was done.
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

// A job that was deleted meanwhile, or ran again and ended anew, is passed over. If the database
// does not answer, the job is tried again after a second.
bool Retention::FireTtls(Monotonic now) {
  bool fired = false;
  for (std::size_t i = 0; i < kTimersAtOnce && !ttls_.empty() && ttls_.begin()->first <= now; ++i) {
    const EndedJob ended = ttls_.begin()->second;
    ttls_.erase(ttls_.begin());
    const Result<JobPtr> job = commands_.FindOrLoad(ended.id);
    if (job.ok() && ended.IsStill(**job)) commands_.Delete(*job, "ttlSecondsAfterFinished");
    if (!job.ok() && job.error().code != Code::kNotFound) {
      ttls_.emplace(now + kNanosPerSecond, ended);
      break;
    }
    fired = true;
  }
  return fired;
}

// Beyond limits::kFinishedJobsKept the oldest retire early, so memory is bounded whatever the rate
// of ends.
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

// A job that is being deleted stays in memory until its last row is gone.
void Retention::Retire(const EndedJob& ended) {
  const JobPtr job = jobs_.Find(ended.id);
  if (job == nullptr || !ended.IsStill(*job) || job->deletion_requested) return;
  jobs_.Leave(job);
  commits_.Forget(ended.id);
}

bool Retention::Adopt() {
  const bool forgotten = AdoptForgotten();
  return AdoptFinished() || forgotten;
}

// One job whose rows were loaded and whose record was not: its deletion goes on, or its TTL is
// scheduled. If the database does not answer, it stays first in line.
bool Retention::AdoptForgotten() {
  if (forgotten_.empty()) return false;
  const JobId id = forgotten_.front();
  const Result<JobPtr> loaded = commands_.FindOrLoad(id);
  if (!loaded.ok() && loaded.error().code != Code::kNotFound) return false;
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

// One page of one state. A policy holds for all ended jobs, however long ago they ended and whether
// a member still has their objects.
bool Retention::AdoptFinished() {
  if (finished_after_.empty()) return false;
  auto& [state, after] = finished_after_.front();
  JobQuery query;
  query.state = state;
  query.after = after;
  query.limit = kFinishedAtOnce;
  const auto found = context_.store.ReadJobs(query);
  // The database does not answer: another step tries again.
  if (!found.ok()) return false;
  for (const JobPtr& job : *found) {
    if (!jobs_.all().contains(job->id)) Schedule(*job);
    after = job->id;
  }
  if (found->size() < kFinishedAtOnce) finished_after_.pop_front();
  return true;
}

}  // namespace muster
