// Deadlines of jobs. Which deadline a job has depends on its state:
//
// - waiting, deactivated by Muster: its retention (rule A54);
// - waiting, active: the end of its back-off (rules A51, A52);
// - dispatched: the time by which its pods must be ready (rule A52) and its maximum execution time
//   (rule A53), whichever is earlier;
// - a batch script, besides: the last time at which it may start to end by its deadline, and, while
//   it runs, the deadline itself and a time limit that was lowered (rule B32); the lease of an
//   allocation's client until it runs (rule B34);
// - in all other states, and while it is being stopped: none.
//
// Set compares the deadline of the record with the alarm that is set, so a change of the record
// that moves no deadline costs one lookup. Ring looks at the record again and does what is due; the
// change that it makes sets the next alarm. Deadlines are wall-clock times from the record, so they
// survive a restart.
#include "schedd/engine/jobs/alarms.h"

#include "schedd/base/fault_points.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/evictions.h"

namespace muster {
namespace {

// The alarms of one step; the rest follows in the next one.
constexpr std::size_t kAlarmsAtOnce = 256;
constexpr std::uint64_t kJitterParts = 101;  // 0 to 100 millionths (rule A52)

// Nullopt is "never".
std::optional<WallTime> Earlier(std::optional<WallTime> a, std::optional<WallTime> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

bool IsDeactivatedByMuster(const JobRecord& job) {
  return !StateOf(job).active && !StateOf(job).deactivation_cause.empty();
}

// The end that is due for a batch script at its deadline or because its client is gone.
struct BatchEnd {
  std::optional<WallTime> at;  // nullopt: none is to come
  Reason reason = Reason::kNone;
  const char* message = "";

  void Offer(std::optional<WallTime> other, Reason why, const char* text) {
    if (!other || (at && *at <= *other)) return;
    at = other;
    reason = why;
    message = text;
  }
};

BatchEnd NextBatchEnd(const JobRecord& job) {
  BatchEnd end;
  if (job.batch_state == nullptr || IsTerminal(job.state) || changes::IsCancelling(job)) return end;
  const BatchState& state = *job.batch_state;
  const bool runs = job.state == JobState::kRunning;
  end.Offer(runs || job.state == JobState::kAdmitted ? state.deadline : changes::LatestStart(job),
            Reason::kDeadlineMissed, "It cannot end by its deadline");
  if (runs) {
    end.Offer(changes::ChangedLimitEnd(job), Reason::kDeadlineExceeded,
              "It has run as long as its time limit allows");
  } else if (state.client_until.set()) {
    end.Offer(state.client_until, Reason::kClientGone,
              "The client that it was allocated for does not answer");
  }
  return end;
}

std::optional<WallTime> NextGeneralDeadline(const JobRecord& job,
                                            const AdmissionSettings& settings);

// The earliest deadline of the job; nullopt: none.
std::optional<WallTime> NextDeadline(const JobRecord& job, const AdmissionSettings& settings) {
  return Earlier(NextGeneralDeadline(job, settings), NextBatchEnd(job).at);
}

std::optional<WallTime> NextGeneralDeadline(const JobRecord& job,
                                            const AdmissionSettings& settings) {
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

void Alarms::Reset() {
  alarms_.clear();
  alarm_of_.clear();
  unready_.clear();
}

// With blockAdmission nobody is admitted while pods of an admitted job are not ready (rule A23,
// step l). When those of the last such job are, everything that waits is tried again.
void Alarms::TrackPods(const JobRecord& job) {
  const WaitForPodsReady& rules = context_.settings().pods_ready;
  if (!rules.enabled || !rules.block_admission) return;
  const bool waits = IsDispatched(job.state) && !IsTrue(job, "PodsReady");
  if (waits) {
    unready_.insert(job.id);
  } else if (unready_.erase(job.id) > 0 && unready_.empty()) {
    waiting_.FlushAll();
  }
}

// Called for every record that enters or changes.
void Alarms::Set(const JobRecord& job) {
  TrackPods(job);
  const std::optional<WallTime> due = NextDeadline(job, context_.settings());
  const auto known = alarm_of_.find(job.id);
  if (known != alarm_of_.end()) {
    if (due && known->second == *due) return;
    alarms_.erase({known->second, job.id});
    alarm_of_.erase(known);
  }
  if (!due) return;
  alarms_.emplace(*due, job.id);
  alarm_of_.emplace(job.id, *due);
}

// An alarm is taken off before it rings, because Ring sets the next one by way of Change.
bool Alarms::Fire() {
  bool fired = false;
  const WallTime now = context_.clock.WallNow();
  for (std::size_t i = 0; i < kAlarmsAtOnce && !alarms_.empty(); ++i) {
    const auto [due, id] = *alarms_.begin();
    if (due > now || MUSTER_PLANTED(back_off_never_ends)) break;
    alarms_.erase(alarms_.begin());
    alarm_of_.erase(id);
    fired = true;
    if (const JobPtr job = jobs_.Find(id); job != nullptr) Ring(job);
  }
  return fired;
}

// The maximum execution time goes before the time for ready pods: it deactivates the job for good.
// `jitter` keeps jobs that failed together from coming back together.
void Alarms::Ring(const JobPtr& job) {
  const WallTime now = context_.clock.WallNow();
  if (const BatchEnd end = NextBatchEnd(*job); end.at && *end.at <= now) {
    if (IsDispatched(job->state)) {
      attempts_.Stop(job, end.reason, end.message, true);
    } else {
      attempts_.End(job, JobEvent::kCancel, end.reason, end.message, nullptr);
    }
    return;
  }
  if (job->state == JobState::kHeld) return;
  if (job->state == JobState::kPending) {
    if (IsDeactivatedByMuster(*job)) {
      commands_.Delete(job, "objectRetentionPolicies");
      return;
    }
    jobs_.Put(job, changes::BackoffFinished(*job, now), "JobRequeued");
    return;
  }
  const auto limit = ExecutionDeadline(*job);
  if (limit && *limit <= now) {
    attempts_.Deactivate(job, std::string(ReasonName(Reason::kMaximumExecutionTimeExceeded)));
    return;
  }
  const WaitForPodsReady& rules = context_.settings().pods_ready;
  const auto ready_by = PodsReadyBy(*job, rules);
  if (!ready_by || ready_by->at > now) return;
  const auto jitter = static_cast<std::int32_t>(context_.random.Next() % kJitterParts);
  const bool elsewhere = config_.view()->member_clusters.size() > 1;
  attempts_.Evict(job, changes::EvictedUnready(*job, rules, *ready_by, jitter, elsewhere, now));
}

}  // namespace muster
