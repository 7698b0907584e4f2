// Evictions, deactivations and time limits of a workload. Sentences are Kueue's word for word,
// because users and tools read them; reasons are those of rule A59. An eviction that is marked
// while another one is under way replaces reason and message, but is not counted again.
#include "schedd/model/eviction_lifecycle.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

constexpr std::string_view kDeactivated = "Deactivated";

// "AdmissionCheck" or "AdmissionChecks", then each check in this state with its message.
std::string ChecksText(const JobRecord& job, CheckState state) {
  std::string list;
  std::size_t count = 0;
  for (const auto& check : StateOf(job).checks) {
    if (check.state != state) continue;
    list +=
        std::string(count++ == 0 ? "" : "; ") + "\"" + check.name + "\" (" + check.message + ")";
  }
  return std::string(count > 1 ? "AdmissionChecks" : "AdmissionCheck") + " in " +
         std::string(CheckStateName(state)) + " state: " + list;
}

// "1m30s": a duration as Kueue's sentences write it.
std::string DurationText(std::int64_t seconds) {
  const std::int64_t hours = seconds / 3600;
  const std::int64_t minutes = seconds / 60 % 60;
  std::string text;
  if (hours > 0) text += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) text += std::to_string(minutes) + "m";
  return text + std::to_string(seconds % 60) + "s";
}

// The words for the cause of a deactivation in its sentence.
std::string_view CauseText(std::string_view cause) {
  if (cause == ReasonName(Reason::kRequeuingLimitExceeded)) {
    return " due to exceeding the maximum number of re-queuing retries";
  }
  if (cause == ReasonName(Reason::kMaximumExecutionTimeExceeded)) {
    return " due to exceeding the maximum execution time";
  }
  return "";
}

WallTime After(WallTime from, std::int64_t seconds) { return from.PlusSeconds(seconds); }

}  // namespace

// The updates of a check belong to one reservation, so they are dropped with its state.
void MarkEvicted(JobRecord* job, const EvictionNote& note, WallTime now) {
  const bool again = IsTrue(*job, "Evicted");
  SetCondition(job, "Evicted", true, note.reason, note.message, now);
  ChangeState(job, [&](AdmissionState* state) {
    state->unhealthy_nodes.clear();
    for (auto& gate : state->preemption_gates) gate.open = false;
    for (auto& check : state->checks) {
      if (check.state == CheckState::kRetry) ++check.retry_count;
      check.message = "Reset to Pending after eviction. Previously: " +
                      std::string(CheckStateName(check.state));
      check.state = CheckState::kPending;
      check.last_transition = now;
      check.requeue_after_s.reset();
      check.updates.clear();
    }
    if (again) return;
    for (auto& count : state->evictions) {
      if (count.reason != note.reason || count.cause != note.cause) continue;
      ++count.count;
      return;
    }
    state->evictions.push_back({note.reason, note.cause, 1});
  });
}

void MarkPreempted(JobRecord* job, Reason reason, const std::string& message, WallTime now) {
  MarkEvicted(job, {std::string(ReasonName(Reason::kPreempted)), "", message}, now);
  SetCondition(job, "Preempted", true, ReasonName(reason), message, now);
}

void MarkPreemptionGated(JobRecord* job, WallTime now) {
  SetCondition(job, "BlockedOnPreemptionGates", true, "PreemptionGated",
               "Workload requires preemption, but it's gated", now);
}

// Evictions for another job's or the administrator's sake are requeued at once; those for the job's
// own failure (pods not ready, a check) wait.
void ReturnToQueue(JobRecord* job, const AdmissionSettings& settings, WallTime now) {
  const Condition* evicted = FindCondition(*job, "Evicted");
  const std::string reason = evicted == nullptr ? std::string() : evicted->reason;
  const std::string message = evicted == nullptr ? std::string() : evicted->message;
  ReleaseQuota(job, Reason::kPendingEvaluation, message, settings, now);
  const bool at_once =
      reason == ReasonName(Reason::kPreempted) || reason == ReasonName(Reason::kClusterDrained) ||
      reason == ReasonName(Reason::kClusterTainted) ||
      reason == ReasonName(Reason::kPlacementEviction) ||
      reason == ReasonName(Reason::kRebalanced) || reason == ReasonName(Reason::kNodeFailures) ||
      reason == ReasonName(Reason::kFlavorMigration);
  SetCondition(job, "Requeued", at_once, reason, message, now);
}

// A back-off that is over is forgotten, as Kueue does: a clock that is set back afterwards must not
// begin it again, because nobody would end it. A job that a user reactivates starts with a new
// count of tries.
void MarkRequeued(JobRecord* job, std::string_view reason, const std::string& message,
                  WallTime now) {
  SetCondition(job, "Requeued", true, reason, message, now);
  const bool reactivated = reason == "Reactivated";
  if (!reactivated && (reason != "BackoffFinished" || !StateOf(*job).requeue_at)) return;
  ChangeState(job, [reactivated](AdmissionState* state) {
    state->requeue_at.reset();
    if (!reactivated) return;
    state->requeue_count = 0;
    state->deactivation_cause.clear();
  });
}

std::optional<EvictionNote> RetryEviction(const JobRecord& job) {
  if (!AnyCheckIn(job, CheckState::kRetry)) return std::nullopt;
  return EvictionNote{std::string(ReasonName(Reason::kAdmissionCheck)), "",
                      "Evicted due to " + ChecksText(job, CheckState::kRetry)};
}

// Each check counts from its own transition; the latest of these times is the answer.
std::optional<WallTime> RetryAt(const JobRecord& job) {
  std::optional<WallTime> latest;
  for (const auto& check : StateOf(job).checks) {
    if (check.state != CheckState::kRetry || !check.requeue_after_s) continue;
    const WallTime at = After(check.last_transition, *check.requeue_after_s);
    latest = latest ? std::max(*latest, at) : at;
  }
  return latest;
}

std::optional<EvictionNote> RejectionEviction(const JobRecord& job) {
  if (!AnyCheckIn(job, CheckState::kRejected)) return std::nullopt;
  const std::string cause(ReasonName(Reason::kAdmissionCheck));
  return EvictionNote{std::string(kDeactivated) + "DueTo" + cause, cause,
                      "Deactivated due to " + ChecksText(job, CheckState::kRejected)};
}

EvictionNote DeactivationEviction(const JobRecord& job) {
  const std::string& cause = StateOf(job).deactivation_cause;
  EvictionNote note;
  note.cause = cause;
  note.reason = std::string(kDeactivated) + (cause.empty() ? "" : "DueTo" + cause);
  note.message = "The workload is deactivated" + std::string(CauseText(cause));
  return note;
}

// Several causes may delay a job; the latest time counts.
void DelayRequeue(JobRecord* job, WallTime until) {
  const auto& at = StateOf(*job).requeue_at;
  if (at && *at >= until) return;
  ChangeState(job, [&](AdmissionState* state) { state->requeue_at = until; });
}

// Earlier attempts have used up a part of the limit.
std::optional<WallTime> ExecutionDeadline(const JobRecord& job) {
  const Condition* admitted = FindCondition(job, "Admitted");
  if (job.max_execution_s <= 0 || admitted == nullptr || !admitted->status) return std::nullopt;
  const std::int64_t left = SaturatingSub(job.max_execution_s, StateOf(job).past_execution_s);
  return After(admitted->last_transition, std::max<std::int64_t>(0, left));
}

// Counted from the admission, or from when the pods stopped being ready.
std::optional<PodsReadyDeadline> PodsReadyBy(const JobRecord& job,
                                             const WaitForPodsReady& settings) {
  const Condition* admitted = FindCondition(job, "Admitted");
  if (!settings.enabled || admitted == nullptr || !admitted->status || IsTrue(job, "Evicted")) {
    return std::nullopt;
  }
  const Condition* ready = FindCondition(job, "PodsReady");
  if (ready != nullptr && ready->status) return std::nullopt;
  if (ready != nullptr && ready->reason == "WaitForRecovery") {
    const std::int64_t limit = settings.recovery_timeout_s.value_or(settings.timeout_s);
    if (limit <= 0) return std::nullopt;
    return PodsReadyDeadline{After(ready->last_transition, limit), "WaitForRecovery"};
  }
  return PodsReadyDeadline{After(admitted->last_transition, settings.timeout_s), "WaitForStart"};
}

// The try is counted before the limit is compared.
EvictionNote PodsReadyEviction(JobRecord* job, const WaitForPodsReady& settings,
                               const PodsReadyDeadline& deadline, std::int64_t backoff_us,
                               WallTime now) {
  ChangeState(job, [](AdmissionState* state) { ++state->requeue_count; });
  if (settings.backoff_limit && StateOf(*job).requeue_count > *settings.backoff_limit) {
    ChangeState(job, [](AdmissionState* state) {
      state->active = false;
      state->deactivation_cause = ReasonName(Reason::kRequeuingLimitExceeded);
    });
    return DeactivationEviction(*job);
  }
  DelayRequeue(job, {SaturatingAdd(now.us, backoff_us)});
  const bool recovers = deadline.cause == "WaitForRecovery";
  const std::int64_t limit =
      recovers ? settings.recovery_timeout_s.value_or(settings.timeout_s) : settings.timeout_s;
  return {std::string(ReasonName(Reason::kPodsReadyTimeout)), deadline.cause,
          "Exceeded the PodsReady timeout " + DurationText(limit)};
}

}  // namespace muster
