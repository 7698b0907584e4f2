#include "schedd/engine/job_changes.h"

#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::changes {
namespace {

constexpr const char* kHeldText = "The job is held; release it to let it be scheduled";
constexpr const char* kEvaluationText = "Workload is pending evaluation in the scheduling queue";

// A copy in the state that the one transition table gives.
Draft Follow(const JobRecord& job, JobEvent event) {
  const auto next = Next(job.state, event);
  MUSTER_CHECK(next.has_value());
  auto draft = std::make_shared<JobRecord>(job);
  draft->state = *next;
  return draft;
}

void TakeCounts(JobRecord* job, const Observation& seen) {
  job->ready_pods = seen.ready_pods;
  job->succeeded_pods = seen.succeeded_pods;
  job->failed_pods = seen.failed_pods;
}

WallTime StartOf(const JobRecord& job, const Observation& seen, WallTime now) {
  // A member's clock may be off; no start lies before the admission that made it.
  return seen.start_time.set() ? std::max(seen.start_time, job.admit_time) : now;
}

void Waits(JobRecord* job) {
  if (job->suspended_by_user) {
    const auto held = Next(job->state, JobEvent::kHold);
    MUSTER_CHECK(held.has_value());
    job->state = *held;
    job->reason = Reason::kHeldByUser;
    job->message = kHeldText;
  } else {
    job->reason = Reason::kPendingEvaluation;
    job->message = kEvaluationText;
  }
}

}  // namespace

Draft Admitted(const JobRecord& job, AdmissionPtr admission, const std::string& cluster,
               WallTime now) {
  Draft draft = Follow(job, JobEvent::kAdmit);
  draft->attempt += 1;
  draft->cluster = cluster;
  draft->admit_time = now;
  draft->start_time = draft->end_time = {};
  draft->ready_pods = draft->succeeded_pods = draft->failed_pods = 0;
  draft->exit_code.reset();
  draft->exit_signal = 0;
  draft->reason = Reason::kAdmitted;
  draft->message = "The workload is admitted to member cluster " + cluster;
  SetCondition(draft.get(), "QuotaReserved", true, "QuotaReserved",
               "Quota reserved in ClusterQueue " + admission->cluster_queue, now);
  SetCondition(draft.get(), "Admitted", true, "Admitted", "The workload is admitted", now);
  if (FindCondition(*draft, "Evicted") != nullptr) {
    SetCondition(draft.get(), "Evicted", false, "QuotaReserved",
                 "Previously: the workload was evicted", now);
    SetCondition(draft.get(), "PodsReady", false, "WaitForStart",
                 "Not all pods are ready or succeeded", now);
  }
  draft->admission = std::move(admission);
  return draft;
}

Draft Started(const JobRecord& job, const Observation& seen, WallTime now) {
  Draft draft = Follow(job, JobEvent::kStart);
  draft->start_time = StartOf(job, seen, now);
  draft->reason = Reason::kRunning;
  draft->message.clear();
  TakeCounts(draft.get(), seen);
  SetCondition(draft.get(), "PodsReady", true, "Started",
               "All pods reached readiness and the workload is running", now);
  return draft;
}

Draft Progressed(const JobRecord& job, const Observation& seen) {
  if (job.ready_pods == seen.ready_pods && job.succeeded_pods == seen.succeeded_pods &&
      job.failed_pods == seen.failed_pods) {
    return nullptr;
  }
  auto draft = std::make_shared<JobRecord>(job);
  TakeCounts(draft.get(), seen);
  return draft;
}

Draft Ended(const JobRecord& job, JobEvent how, Reason reason, const std::string& message,
            const Observation* seen, WallTime now) {
  Draft draft = Follow(job, how);
  draft->end_time = now;
  if (seen != nullptr) {
    if (!draft->start_time.set() && (seen->start_time.set() || how == JobEvent::kSucceed)) {
      draft->start_time = StartOf(job, *seen, now);
    }
    if (seen->end_time.set()) draft->end_time = seen->end_time;
    draft->exit_code = seen->exit_code;
    draft->exit_signal = seen->exit_signal;
    TakeCounts(draft.get(), *seen);
  }
  draft->end_time = std::max({draft->end_time, draft->start_time, draft->admit_time});
  draft->ready_pods = 0;
  draft->suspended_by_user = false;
  draft->admission = nullptr;
  draft->reason = reason;
  draft->message = message;
  SetCondition(draft.get(), "Finished", true, std::string(ReasonName(reason)), message, now);
  return draft;
}

Draft BackToPending(const JobRecord& job, JobEvent how, WallTime now) {
  Draft draft = Follow(job, how);
  const std::string reason(ReasonName(job.reason));
  SetCondition(draft.get(), "Evicted", true, reason, job.message, now);
  SetCondition(draft.get(), "QuotaReserved", false, "PendingEvaluation", job.message, now);
  SetCondition(draft.get(), "Admitted", false, "NoReservation", "The workload has no reservation",
               now);
  SetCondition(draft.get(), "Requeued", true, reason, job.message, now);
  draft->requeues += 1;
  draft->admission = nullptr;
  draft->cluster.clear();
  draft->admit_time = draft->start_time = {};
  draft->ready_pods = draft->succeeded_pods = draft->failed_pods = 0;
  Waits(draft.get());
  return draft;
}

Draft Stopping(const JobRecord& job, Reason reason, const std::string& message) {
  auto draft = std::make_shared<JobRecord>(job);
  draft->reason = reason;
  draft->message = message;
  return draft;
}

Draft Held(const JobRecord& job) {
  Draft draft = Follow(job, JobEvent::kHold);
  draft->suspended_by_user = true;
  draft->reason = Reason::kHeldByUser;
  draft->message = kHeldText;
  return draft;
}

Draft Released(const JobRecord& job) {
  Draft draft = Follow(job, JobEvent::kRelease);
  draft->suspended_by_user = false;
  Waits(draft.get());
  return draft;
}

Draft Waiting(const JobRecord& job, Reason reason, const std::string& message) {
  if (job.state != JobState::kPending || (job.reason == reason && job.message == message))
    return nullptr;
  auto draft = std::make_shared<JobRecord>(job);
  draft->reason = reason;
  draft->message = message;
  return draft;
}

bool IsRequeuing(const JobRecord& job) {
  return HoldsQuota(job.state) &&
         (job.reason == Reason::kRequeued || job.reason == Reason::kClusterQueueStopped ||
          job.reason == Reason::kLocalQueueStopped);
}

bool IsCancelling(const JobRecord& job) {
  return HoldsQuota(job.state) && job.reason == Reason::kCancelled;
}

AttemptRecord ClosedAttempt(const JobRecord& before, const JobRecord& after, WallTime now) {
  AttemptRecord record;
  record.job = before.id;
  record.attempt = before.attempt;
  record.cluster = before.cluster;
  record.admit_time = before.admit_time;
  record.start_time = before.start_time;
  record.end_time = std::max({now, before.admit_time, before.start_time});
  record.outcome = JobState::kPending;
  record.reason = before.reason;
  record.message = before.message;
  if (IsTerminal(after.state)) {
    record.start_time = after.start_time;
    record.end_time = after.end_time;
    record.outcome = after.state;
    record.reason = after.reason;
    record.message = after.message;
    record.exit_code = after.exit_code;
    record.exit_signal = after.exit_signal;
  }
  record.admission = before.admission;
  return record;
}

}  // namespace muster::changes
