// Alarms: what time alone changes of one job. Each job has at most one, at the earliest of its
// deadlines; it is set anew with every change of its record.
#include "schedd/core/plan/requeue.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/engine/impl.h"

namespace muster {
namespace {

constexpr std::size_t kAlarmsAtOnce = 256;
constexpr std::uint64_t kJitterParts = 101;  // 0 to 100 millionths (rule A52)

std::optional<WallTime> Earlier(std::optional<WallTime> a, std::optional<WallTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

bool IsDeactivatedByMuster(const JobRecord& job) {
  return !StateOf(job).active && !StateOf(job).deactivation_cause.empty();
}

std::optional<WallTime> NextDeadline(const JobRecord& job, const AdmissionSettings& settings) {
  if (job.state == JobState::kPending && IsDeactivatedByMuster(job)) {
    if (!settings.retain_deactivated_s) return std::nullopt;
    return FindCondition(job, "Evicted")
        ->last_transition.PlusSeconds(*settings.retain_deactivated_s);
  }
  if (job.state == JobState::kPending && StateOf(job).active) {
    return core::HeldBackUntil(job);
  }
  if (!IsDispatched(job.state) || IsTrue(job, "Evicted") || changes::IsCancelling(job))
    return std::nullopt;
  std::optional<WallTime> ready;
  if (const auto by = PodsReadyBy(job, settings.pods_ready)) ready = by->at;
  return Earlier(ready, ExecutionDeadline(job));
}

}  // namespace

void Engine::Impl::SetAlarm(const JobRecord& job) {
  const AdmissionSettings& settings = *options.settings;
  if (settings.pods_ready.enabled && settings.pods_ready.block_admission) {
    const bool waits = IsDispatched(job.state) && !IsTrue(job, "PodsReady");
    if (waits) {
      unready.insert(job.id);
    } else if (unready.erase(job.id) > 0 && unready.empty()) {
      FlushAll();
    }
  }
  const std::optional<WallTime> due = NextDeadline(job, settings);
  const auto known = alarm_of.find(job.id);
  if (known != alarm_of.end()) {
    if (due && known->second == *due) return;
    alarms.erase({known->second, job.id});
    alarm_of.erase(known);
  }
  if (!due) return;
  alarms.emplace(*due, job.id);
  alarm_of.emplace(job.id, *due);
}

bool Engine::Impl::FireAlarms() {
  bool fired = false;
  const WallTime now = clock.WallNow();
  for (std::size_t i = 0; i < kAlarmsAtOnce && !alarms.empty(); ++i) {
    const auto [due, id] = *alarms.begin();
    if (due > now) break;
    alarms.erase(alarms.begin());
    alarm_of.erase(id);
    fired = true;
    const auto found = live.jobs.find(id);
    if (found != live.jobs.end()) OnAlarm(found->second);
  }
  return fired;
}

void Engine::Impl::OnAlarm(const JobPtr& job) {
  const WallTime now = clock.WallNow();
  if (job->state == JobState::kPending) {
    if (IsDeactivatedByMuster(*job)) {
      Delete(job, "objectRetentionPolicies");
      return;
    }
    Requeued(job, "BackoffFinished", "The workload backoff was finished");
    return;
  }
  const auto limit = ExecutionDeadline(*job);
  if (limit && *limit <= now) {
    Deactivate(job, std::string(ReasonName(Reason::kMaximumExecutionTimeExceeded)));
    return;
  }
  const WaitForPodsReady& rules = options.settings->pods_ready;
  const auto ready_by = PodsReadyBy(*job, rules);
  if (!ready_by || ready_by->at > now) return;
  const std::int32_t count = StateOf(*job).requeue_count + 1;
  const bool last = rules.backoff_limit && count > *rules.backoff_limit;
  const auto jitter = static_cast<std::int32_t>(random.Next() % kJitterParts);
  Evict(job, last ? Reason::kDeactivated : Reason::kPodsReadyTimeout, [&](JobRecord* draft) {
    const EvictionNote note =
        PodsReadyEviction(draft, rules, *ready_by, core::BackoffMicros(rules, count, jitter), now);
    MarkEvicted(draft, note, now);
    // Elsewhere it may start. A recovery that failed says nothing of that.
    if (ready_by->cause == "WaitForStart" && live.config->member_clusters.size() > 1)
      changes::AvoidMember(draft, now);
  });
}

}  // namespace muster
