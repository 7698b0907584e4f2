#include "schedd/lifecycle/evictions.h"

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/plan/requeue.h"
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

}  // namespace muster::changes
