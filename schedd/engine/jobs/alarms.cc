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
// Set compares the deadlines of the record with the alarms that are set, so a change of the record
// that moves no deadline costs two lookups. Ring looks at the record again and does what is due;
// the change that it makes sets the next alarm. Deadlines are wall-clock times from the record, so
// they survive a restart.
//
// --begin and --deadline are times that a user has named, and are judged by the host's clock; all
// other deadlines end a span of time, and are judged by the clock that does not step
// (docs/rules/time.md).
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

// What is due for a job next, by each clock; nullopt: nothing.
struct Deadlines {
  std::optional<WallTime> elapsed, calendar;
};

// The end of a batch script at its deadline or because its client is gone.
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

bool HasBatchEnds(const JobRecord& job) {
  return job.batch_state != nullptr && !IsTerminal(job.state) && !changes::IsCancelling(job);
}

// The end that its --deadline asks for.
BatchEnd DeadlineEnd(const JobRecord& job) {
  BatchEnd end;
  if (!HasBatchEnds(job)) return end;
  const bool begun = job.state == JobState::kRunning || job.state == JobState::kAdmitted;
  end.Offer(begun ? BatchStateOf(job).deadline : changes::LatestStart(job), Reason::kDeadlineMissed,
            "It cannot end by its deadline");
  return end;
}

// The end that comes when a span of time is over.
BatchEnd SpanEnd(const JobRecord& job) {
  BatchEnd end;
  if (!HasBatchEnds(job)) return end;
  const WallTime client_until = BatchStateOf(job).client_until;
  if (job.state == JobState::kRunning) {
    end.Offer(changes::ChangedLimitEnd(job), Reason::kDeadlineExceeded,
              "It has run as long as its time limit allows");
  } else if (client_until.set()) {
    end.Offer(client_until, Reason::kClientGone,
              "The client that it was allocated for does not answer");
  }
  return end;
}

// The end that is due; the earlier one if both are.
BatchEnd DueEnd(const JobRecord& job, WallTime now, WallTime today) {
  BatchEnd due;
  const BatchEnd deadline = DeadlineEnd(job), span = SpanEnd(job);
  if (deadline.at && *deadline.at <= today)
    due.Offer(deadline.at, deadline.reason, deadline.message);
  if (span.at && *span.at <= now) due.Offer(span.at, span.reason, span.message);
  return due;
}

std::optional<WallTime> NextGeneralDeadline(const JobRecord& job,
                                            const AdmissionSettings& settings) {
  if (job.state == JobState::kPending && IsDeactivatedByMuster(job)) {
    if (!settings.retain_deactivated_s) return std::nullopt;
    return FindCondition(job, "Evicted")
        ->last_transition.PlusSeconds(*settings.retain_deactivated_s);
  }
  if (job.state == JobState::kPending && StateOf(job).active) return core::HeldBackUntil(job);
  if (!IsDispatched(job.state) || IsTrue(job, "Evicted") || changes::IsCancelling(job))
    return std::nullopt;
  std::optional<WallTime> ready;
  if (const auto by = PodsReadyBy(job, settings.pods_ready)) ready = by->at;
  return Earlier(ready, ExecutionDeadline(job));
}

Deadlines NextDeadlines(const JobRecord& job, const AdmissionSettings& settings) {
  Deadlines next{SpanEnd(job).at, DeadlineEnd(job).at};
  const bool begins =
      job.state == JobState::kPending && StateOf(job).active && core::WaitsForBegin(job);
  std::optional<WallTime>& of_clock = begins ? next.calendar : next.elapsed;
  of_clock = Earlier(of_clock, NextGeneralDeadline(job, settings));
  return next;
}

}  // namespace

void Alarms::Reset() {
  elapsed_.Clear();
  calendar_.Clear();
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
  const Deadlines due = NextDeadlines(job, context_.settings());
  elapsed_.Set(job.id, due.elapsed);
  calendar_.Set(job.id, due.calendar);
}

// An alarm is taken off before it rings, because Ring sets the next one by way of Change. The
// clocks are read once: what was due must not stop being so because the host's clock steps back
// meanwhile.
bool Alarms::Fire() {
  bool fired = false;
  const WallTime now = context_.clock.WallNow(), today = context_.clock.CalendarNow();
  for (std::size_t i = 0; i < kAlarmsAtOnce && !MUSTER_PLANTED(back_off_never_ends); ++i) {
    std::optional<JobId> due = elapsed_.TakeDue(now);
    if (!due) due = calendar_.TakeDue(today);
    if (!due) break;
    fired = true;
    if (const JobPtr job = jobs_.Find(*due); job != nullptr) Ring(job, now, today);
  }
  return fired;
}

// The maximum execution time goes before the time for ready pods: it deactivates the job for good.
// `jitter` keeps jobs that failed together from coming back together.
void Alarms::Ring(const JobPtr& job, WallTime now, WallTime today) {
  if (const BatchEnd end = DueEnd(*job, now, today); end.at) {
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
