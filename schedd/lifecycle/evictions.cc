#include "schedd/lifecycle/evictions.h"

#include "schedd/base/check.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"

namespace muster::changes {
namespace {

void TurnInactive(JobRecord* job, std::string_view cause) {
  ChangeState(job, [&](AdmissionState* state) {
    state->active = false;
    state->deactivation_cause = cause;
  });
}

// The queue of the member that it was admitted by does not let it run any more.
bool IsTakenBack(const JobRecord& job) {
  const AdmissionCheckStatus* check = MemberQueuesCheck(job);
  return IsDispatched(job.state) && check != nullptr && check->state == CheckState::kRetry;
}

}  // namespace

bool MayBeEvicted(const JobRecord& job) {
  return HoldsQuota(job.state) && !IsCancelling(job) && !IsTrue(job, "Evicted");
}

Draft Evicted(const JobRecord& job, Reason reason, const std::function<void(JobRecord*)>& mark) {
  auto draft = std::make_shared<JobRecord>(job);
  mark(draft.get());
  draft->reason = reason;
  draft->message = FindCondition(*draft, "Evicted")->message;
  if (IsDispatched(job.state) && !MayRequeue(job)) {
    draft->message += ", and the job may not be requeued";
  }
  return draft;
}

Draft Evicted(const JobRecord& job, Reason reason, const EvictionNote& note, WallTime now) {
  return Evicted(job, reason, [&](JobRecord* draft) { MarkEvicted(draft, note, now); });
}

Draft Evicted(const JobRecord& job, const core::Eviction& eviction, const std::string& uid,
              const std::string& job_uid, WallTime now) {
  const std::string message = core::EvictionMessage(eviction, uid, job_uid);
  return Evicted(job, eviction.reason, [&](JobRecord* draft) {
    if (eviction.reason == Reason::kPreempted) {
      MarkPreempted(draft, eviction.preemption_reason, message, now);
    } else {
      MarkEvicted(draft, {std::string(ReasonName(eviction.reason)), "", message}, now);
    }
  });
}

Draft EvictedByChecks(const JobRecord& job, WallTime now) {
  if (const auto rejected = RejectionEviction(job)) {
    return Evicted(job, Reason::kDeactivated, [&](JobRecord* draft) {
      TurnInactive(draft, ReasonName(Reason::kAdmissionCheck));
      MarkEvicted(draft, *rejected, now);
    });
  }
  const auto retry = RetryEviction(job);
  if (!retry) return nullptr;
  const auto again_at = RetryAt(job);
  const bool taken_back = IsTakenBack(job);
  const Reason reason = taken_back ? Reason::kMemberEvicted : Reason::kAdmissionCheck;
  const EvictionNote note = taken_back ? EvictionNote{std::string(ReasonName(reason)), "",
                                                      "Evicted: " + MemberQueuesCheck(job)->message}
                                       : *retry;
  return Evicted(job, reason, [&](JobRecord* draft) {
    if (again_at) DelayRequeue(draft, *again_at);
    MarkEvicted(draft, note, now);
  });
}

Draft EvictedUnready(const JobRecord& job, const WaitForPodsReady& rules,
                     const PodsReadyDeadline& deadline, std::int32_t jitter_millionths,
                     bool elsewhere, WallTime now) {
  const std::int32_t count = StateOf(job).requeue_count + 1;
  const bool last = rules.backoff_limit && count > *rules.backoff_limit;
  const std::int64_t backoff_us = core::BackoffMicros(rules, count, jitter_millionths);
  return Evicted(job, last ? Reason::kDeactivated : Reason::kPodsReadyTimeout,
                 [&](JobRecord* draft) {
    MarkEvicted(draft, PodsReadyEviction(draft, rules, deadline, backoff_us, now), now);
    // Elsewhere it may start. A recovery that failed says nothing of that.
    if (elsewhere && deadline.cause == "WaitForStart") AvoidMember(draft, now);
  });
}

Draft Deactivated(const JobRecord& job, const std::string& cause, WallTime now) {
  if (HoldsQuota(job.state) && !IsTrue(job, "Evicted")) {
    return Evicted(job, Reason::kDeactivated, [&](JobRecord* draft) {
      TurnInactive(draft, cause);
      MarkEvicted(draft, DeactivationEviction(*draft), now);
    });
  }
  auto draft = std::make_shared<JobRecord>(job);
  TurnInactive(draft.get(), cause);
  if (!HoldsQuota(draft->state)) {
    MarkEvicted(draft.get(), DeactivationEviction(*draft), now);
    SayWhyItWaits(draft.get());
  }
  return draft;
}

// From its end on it is as if its attempt had been stopped for a requeue. It has its whole time
// again.
Draft RunAgain(const JobRecord& job, const std::string& by, WallTime not_before,
               const AdmissionSettings& settings, WallTime now) {
  MUSTER_CHECK(Next(job.state, JobEvent::kRunAgain).has_value());
  auto stopped = std::make_shared<JobRecord>(job);
  stopped->state = JobState::kRunning;
  stopped->end_time = {};
  stopped->exit_code.reset();
  stopped->exit_signal = 0;
  // A hold from before its end is over.
  if (!job.suspended_by_user && BatchStateOf(job).held_by_admin)
    ChangeBatch(stopped.get(), [](BatchState* state) { state->held_by_admin = false; });
  DropCondition(stopped.get(), "Finished");
  DropCondition(stopped.get(), "Evicted");
  MarkEvicted(stopped.get(), {std::string(ReasonName(Reason::kRequeued)), "", "Requeued by " + by},
              now);
  Draft draft = BackToPending(*stopped, not_before, settings, now);
  ChangeState(draft.get(), [](AdmissionState* state) { state->past_execution_s = 0; });
  return draft;
}

Draft HeldWhileRunning(const JobRecord& job, bool by_admin, WallTime now) {
  auto draft = std::make_shared<JobRecord>(job);
  draft->suspended_by_user = true;
  SetCondition(draft.get(), kHeldCondition, true, ReasonName(Reason::kHeldByUser),
               "It is held when it is requeued", now);
  if (by_admin) ChangeBatch(draft.get(), [](BatchState* state) { state->held_by_admin = true; });
  return draft;
}

Draft ReleasedWhileRunning(const JobRecord& job) {
  auto draft = std::make_shared<JobRecord>(job);
  draft->suspended_by_user = false;
  DropCondition(draft.get(), kHeldCondition);
  ChangeBatch(draft.get(),
              [](BatchState* state) { state->held_by_admin = state->special_exit = false; });
  return draft;
}

}  // namespace muster::changes
