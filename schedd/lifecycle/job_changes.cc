#include "schedd/lifecycle/job_changes.h"

#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/base/fault_points.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_slurm_gates.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "schedd/model/scale_lifecycle.h"

namespace muster::changes {
namespace {

constexpr const char* kBackoffText = "The workload backoff was finished";
constexpr std::string_view kPlaced = "Placed";
constexpr std::string_view kWaitsForMember = "; waits for member cluster ";
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

// A parent is tried on every flavor again.
void LeaveFlavor(JobRecord* job) {
  if (!StateOf(*job).concurrent_parent.empty())
    ChangeState(job, [](AdmissionState* state) { state->allowed_flavors.reset(); });
}

void Waits(JobRecord* job) {
  if (job->suspended_by_user) {
    const auto held = Next(job->state, JobEvent::kHold);
    MUSTER_CHECK(held.has_value());
    job->state = *held;
  }
  SayWhyItWaits(job);
}

std::string AdmittedText(const JobRecord& job) {
  return "The workload is admitted to member cluster " + job.cluster;
}

// What a member says of pods that do not run as they should.
bool TakeMessage(JobRecord* job, const std::string& seen) {
  if (IsTrue(*job, "Evicted") || IsCancelling(*job)) return false;
  if (BatchStateOf(*job).suspended_since.set()) return false;
  const bool admitted = job->state == JobState::kAdmitted;
  const std::string text = !seen.empty() || !admitted ? seen : AdmittedText(*job);
  const Reason reason = !admitted      ? Reason::kRunning
                        : seen.empty() ? Reason::kAdmitted
                                       : Reason::kStarting;
  if (job->message == text && job->reason == reason) return false;
  job->message = text;
  job->reason = reason;
  return true;
}

// It leaves its member: another one is still to be chosen.
void LeavePlace(JobRecord* job, WallTime now) {
  job->cluster.clear();
  if (IsTrue(*job, kPlaced))
    SetCondition(job, kPlaced, false, "Unscheduled", "waits for a member cluster", now);
}

// Its processes are gone: it is not suspended any more.
void LeaveSuspension(JobRecord* job, WallTime now) {
  if (!BatchStateOf(*job).suspended_since.set()) return;
  ChangeBatch(job, [now](BatchState* state) {
    state->suspended_s +=
        std::max<std::int64_t>(0, (now.us - state->suspended_since.us) / kMicrosPerSecond);
    state->suspended_since = {};
  });
}

// How often attempts of the job were lost with their machines or members.
std::int64_t LostAttempts(const JobRecord& job) {
  std::int64_t lost = 0;
  for (const EvictionCount& one : StateOf(job).evictions) {
    if (one.reason == ReasonName(Reason::kLost) || one.reason == ReasonName(Reason::kNodeFailures))
      lost += one.count;
  }
  return lost;
}

// A script that comes back held says so; one that was lost too often is held (rule B32).
void HoldAfterRequeue(JobRecord* job) {
  if (job->batch == nullptr) return;
  if (!job->suspended_by_user && LostAttempts(*job) > limits::kLostAttemptsMost) {
    job->suspended_by_user = true;
    job->reason = Reason::kRequeueLimit;
    job->message = "Its attempts were lost too often; release it to let it be scheduled";
  } else if (IsTrue(*job, kHeldCondition)) {
    // Held while it ran: an ordinary hold.
    job->reason = Reason::kHeldByUser;
  } else if (job->suspended_by_user) {
    job->reason = Reason::kHeldAfterRequeue;
    job->message = "The job was requeued and is held; release it to let it be scheduled";
  }
}

bool IsOver(const AvoidedCluster& avoided, WallTime now) { return avoided.until <= now; }

std::int32_t AdmittedPods(const JobRecord& job) {
  std::int32_t pods = 0;
  if (job.admission == nullptr) return pods;
  for (const PodSetAssignment& pod_set : job.admission->pod_sets) pods += pod_set.count;
  return pods;
}

// After all pods were ready once: a failed one is waited for (rule A52).
void TakeReadiness(JobRecord* job, bool one_failed, WallTime now) {
  const Condition* ready = FindCondition(*job, "PodsReady");
  if (ready == nullptr) return;
  const bool all = job->ready_pods + job->succeeded_pods >= AdmittedPods(*job);
  if (ready->status && one_failed && !all) {
    SetCondition(job, "PodsReady", false, "WaitForRecovery",
                 "At least one pod has failed, waiting for recovery", now);
  } else if (!ready->status && all && ready->reason == "WaitForRecovery") {
    SetCondition(job, "PodsReady", true, "Recovered",
                 "All pods reached readiness and the workload is running", now);
  }
}

}  // namespace

void SayWhyItWaits(JobRecord* job) {
  const AdmissionState& state = StateOf(*job);
  GateReason gate = BatchGate(*job);
  if (job->suspended_by_user) {
    GateReason held = HoldReason(*job);
    job->reason = held.reason;
    job->message = std::move(held.message);
  } else if (!state.active) {
    job->reason = Reason::kDeactivated;
    job->message = DeactivationEviction(*job).message;
  } else if (!state.admission_gated_by.empty()) {
    job->reason = Reason::kAdmissionGated;
    job->message = "Admission is gated by: " + state.admission_gated_by;
  } else if (gate.reason != Reason::kNone) {
    job->reason = gate.reason;
    job->message = std::move(gate.message);
  } else if (GateReason begin = BeginReason(*job); begin.reason != Reason::kNone) {
    job->reason = begin.reason;
    job->message = std::move(begin.message);
  } else if (FindCondition(*job, "Requeued") != nullptr && !IsTrue(*job, "Requeued")) {
    job->reason = Reason::kBackoff;
    job->message = FindCondition(*job, "Requeued")->message;
  } else {
    job->reason = Reason::kPendingEvaluation;
    job->message = kEvaluationText;
  }
}

bool MayQueue(const JobRecord& job) { return !IsArrayRecord(job) && MayBeTried(job); }

bool MayBeTried(const JobRecord& job) {
  return job.state == JobState::kPending && StateOf(job).active &&
         StateOf(job).admission_gated_by.empty() && StateOf(job).concurrent_parent.empty() &&
         BatchGateOpen(job);
}

bool OtherToQueue(const JobRecord& before, const JobRecord& after) {
  return before.conditions != after.conditions || before.admission_state != after.admission_state ||
         before.batch_state != after.batch_state || before.priority != after.priority ||
         before.priority_boost != after.priority_boost ||
         before.cluster_queue != after.cluster_queue || before.pod_sets != after.pod_sets;
}

Draft Reserved(const JobRecord& job, AdmissionPtr admission, const std::string& cluster,
               const std::vector<std::string>& checks, const AdmissionSettings& settings,
               WallTime now) {
  Draft draft = Follow(job, JobEvent::kReserve);
  draft->cluster = cluster;
  draft->reason = Reason::kQuotaReserved;
  draft->message = "Quota reserved in ClusterQueue " + admission->cluster_queue;
  ReserveQuota(draft.get(), std::move(admission), now);
  SyncChecks(draft.get(), checks, now);
  SyncAdmitted(draft.get(), settings, now);
  return draft;
}

Draft Unreserved(const JobRecord& job, Reason reason, const std::string& message,
                 const AdmissionSettings& settings, WallTime now) {
  Draft draft = Follow(job, JobEvent::kEvict);
  ReleaseQuota(draft.get(), reason, message, settings, now);
  EndSlices(draft.get());
  LeaveFlavor(draft.get());
  LeavePlace(draft.get(), now);
  draft->reason = reason;
  draft->message = message;
  return draft;
}

void SayWhyItRunsThere(JobRecord* job, const std::string& sentence, WallTime now) {
  if (sentence.empty()) {
    DropCondition(job, kPlaced);
  } else {
    SetCondition(job, kPlaced, true, "Scheduled", sentence, now);
  }
  const auto& avoided = StateOf(*job).avoided;
  if (std::none_of(avoided.begin(), avoided.end(),
                   [&](const AvoidedCluster& one) { return IsOver(one, now); })) {
    return;
  }
  ChangeState(job, [&](AdmissionState* state) {
    std::erase_if(state->avoided, [&](const AvoidedCluster& one) { return IsOver(one, now); });
  });
}

void AvoidMember(JobRecord* job, WallTime now) {
  if (job->cluster.empty()) return;
  const WallTime until = now.PlusSeconds(limits::kAvoidClusterS);
  ChangeState(job, [&](AdmissionState* state) {
    auto& avoided = state->avoided;
    std::erase_if(avoided, [&](const AvoidedCluster& one) {
      return IsOver(one, now) || one.cluster == job->cluster;
    });
    const auto at = std::find_if(avoided.begin(), avoided.end(), [&](const AvoidedCluster& one) {
      return one.cluster > job->cluster;
    });
    avoided.insert(at, {job->cluster, until});
  });
}

void Dispatch(JobRecord* job, WallTime now) {
  const auto next = Next(job->state, JobEvent::kAdmit);
  MUSTER_CHECK(next.has_value());
  job->state = *next;
  if (!MUSTER_PLANTED(attempt_number_reused) || job->attempt == 0) job->attempt += 1;
  job->admit_time = now;
  job->start_time = job->end_time = {};
  job->ready_pods = job->succeeded_pods = job->failed_pods = 0;
  job->exit_code.reset();
  job->exit_signal = 0;
  job->reason = Reason::kAdmitted;
  job->message = AdmittedText(*job);
  if (FindCondition(*job, "PodsReady") != nullptr) {
    SetCondition(job, "PodsReady", false, "WaitForStart", "Not all pods are ready or succeeded",
                 now);
  }
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

Draft Progressed(const JobRecord& job, const Observation& seen, WallTime now) {
  const bool counts = job.ready_pods != seen.ready_pods ||
                      job.succeeded_pods != seen.succeeded_pods ||
                      job.failed_pods != seen.failed_pods;
  auto draft = std::make_shared<JobRecord>(job);
  const bool message = TakeMessage(draft.get(), seen.message);
  if (!counts && !message) return nullptr;
  if (counts) {
    TakeCounts(draft.get(), seen);
    TakeReadiness(draft.get(), seen.failed_pods > job.failed_pods, now);
  }
  return draft;
}

Draft Reclaimed(const JobRecord& job, const Observation& seen) {
  std::vector<ReclaimablePods> pods = StateOf(job).reclaimable;
  bool more = false;
  for (const PodSet& declared : *job.pod_sets) {
    const auto of_set = [&](const ReclaimablePods& one) { return one.pod_set == declared.name; };
    const auto told = std::find_if(seen.reclaimable.begin(), seen.reclaimable.end(), of_set);
    if (told == seen.reclaimable.end() || told->count <= 0) continue;
    const std::int32_t count = std::min(told->count, declared.count);
    const auto known = std::find_if(pods.begin(), pods.end(), of_set);
    if (known == pods.end()) {
      pods.push_back({declared.name, count});
      more = true;
    } else if (count > known->count) {
      known->count = count;
      more = true;
    }
  }
  if (!more) return nullptr;
  auto draft = std::make_shared<JobRecord>(job);
  ChangeState(draft.get(), [&](AdmissionState* state) { state->reclaimable = std::move(pods); });
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
  DropCondition(draft.get(), kHeldCondition);
  LeaveSuspension(draft.get(), now);
  draft->admission = nullptr;
  EndSlices(draft.get());
  draft->reason = reason;
  draft->message = message;
  SetCondition(draft.get(), "Finished", true, std::string(ReasonName(reason)), message, now);
  return draft;
}

Draft BackToPending(const JobRecord& job, WallTime not_before, const AdmissionSettings& settings,
                    WallTime now) {
  const Condition* evicted = FindCondition(job, "Evicted");
  const std::string why = evicted == nullptr ? std::string() : evicted->reason;
  const bool asked = why == ReasonName(Reason::kRequeued) || why == ReasonName(Reason::kLost);
  const bool ran = IsDispatched(job.state);
  Draft draft = Follow(job, asked ? JobEvent::kRequeue : JobEvent::kEvict);
  ReturnToQueue(draft.get(), settings, now);
  EndSlices(draft.get());
  LeaveFlavor(draft.get());
  const std::optional<WallTime> backs_off_until = StateOf(*draft).requeue_at;
  if (asked) {
    MarkRequeued(draft.get(), why, evicted->message, now);
  } else if ((why == ReasonName(Reason::kAdmissionCheck) ||
              why == ReasonName(Reason::kMemberEvicted) ||
              why == ReasonName(Reason::kPodsReadyTimeout)) &&
             (!backs_off_until || *backs_off_until <= now)) {
    MarkRequeued(draft.get(), "BackoffFinished", kBackoffText, now);
  }
  core::HoldBack(draft.get(), not_before, now);
  // Whoever activates it again gives it its whole time (rule A53); the next attempt runs all
  // pods anew, but what the controller of a Workload says of them stays.
  // Read after the changes above, which replace it.
  const AdmissionState& state = StateOf(*draft);
  const bool spent = state.deactivation_cause == ReasonName(Reason::kMaximumExecutionTimeExceeded);
  const bool anew = ran && job.shape != ShapeKind::kWorkload && !state.reclaimable.empty();
  if (spent || anew) {
    ChangeState(draft.get(), [&](AdmissionState* next) {
      if (spent) next->past_execution_s = 0;
      if (anew) next->reclaimable.clear();
    });
  }
  if (ran) draft->requeues += 1;
  LeavePlace(draft.get(), now);
  draft->admit_time = draft->start_time = {};
  draft->ready_pods = draft->succeeded_pods = draft->failed_pods = 0;
  LeaveSuspension(draft.get(), now);
  if (ran && asked) HoldAfterRequeue(draft.get());
  DropCondition(draft.get(), kHeldCondition);
  Waits(draft.get());
  const auto& again_at = StateOf(*draft).requeue_at;
  const bool says = draft->reason == Reason::kBackoff || draft->reason == Reason::kBeginTime;
  if (says && again_at && *again_at > now)
    draft->message += "; it is not tried again before " + FormatRfc3339(*again_at);
  return draft;
}

Draft Requeued(const JobRecord& job, std::string_view reason, const std::string& message,
               WallTime now) {
  auto draft = std::make_shared<JobRecord>(job);
  MarkRequeued(draft.get(), reason, message, now);
  SayWhyItWaits(draft.get());
  return draft;
}

Draft BackoffFinished(const JobRecord& job, WallTime now) {
  return Requeued(job, "BackoffFinished", kBackoffText, now);
}

Draft Stopping(const JobRecord& job, Reason reason, const std::string& message) {
  auto draft = std::make_shared<JobRecord>(job);
  draft->reason = reason;
  draft->message = message;
  return draft;
}

std::string StopText(const JobRecord& job) {
  return job.message.substr(0, job.message.find(kWaitsForMember));
}

Draft Stuck(const JobRecord& job, const std::string& why) {
  const bool stops = IsTrue(job, "Evicted") || IsCancelling(job);
  const std::string text =
      stops ? StopText(job) + std::string(kWaitsForMember) + why : "member cluster " + why;
  if (job.message == text) return nullptr;
  auto draft = std::make_shared<JobRecord>(job);
  draft->message = text;
  if (!stops && job.state == JobState::kAdmitted) draft->reason = Reason::kDispatching;
  return draft;
}

Draft Held(const JobRecord& job) {
  Draft draft = Follow(job, JobEvent::kHold);
  draft->suspended_by_user = true;
  SayWhyItWaits(draft.get());
  return draft;
}

Draft Released(const JobRecord& job) {
  Draft draft = Follow(job, JobEvent::kRelease);
  draft->suspended_by_user = false;
  if (job.batch_state != nullptr)
    ChangeBatch(draft.get(),
                [](BatchState* state) { state->held_by_admin = state->special_exit = false; });
  Waits(draft.get());
  return draft;
}

Draft Waiting(const JobRecord& job, Reason reason, const std::string& message,
              const AdmissionSettings& settings, WallTime now) {
  if (job.state != JobState::kPending || (job.reason == reason && job.message == message))
    return nullptr;
  auto draft = std::make_shared<JobRecord>(job);
  draft->reason = reason;
  draft->message = message;
  // One that never held quota has no conditions: what it says is its reason.
  if (FindCondition(job, "QuotaReserved") != nullptr)
    MarkWaiting(draft.get(), reason, message, settings, now);
  return draft;
}

bool IsRequeuing(const JobRecord& job) {
  return HoldsQuota(job.state) && !IsCancelling(job) && IsTrue(job, "Evicted");
}

// By its reason, or because it is evicted from its member and may not be requeued (rule B17).
bool IsCancelling(const JobRecord& job) {
  if (!HoldsQuota(job.state)) return false;
  switch (job.reason) {
    case Reason::kCancelled:
    case Reason::kDeadlineMissed:
    case Reason::kDeadlineExceeded:
    case Reason::kClientGone:
      return true;
    default:
      return IsDispatched(job.state) && !MayRequeue(job) && IsTrue(job, "Evicted");
  }
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
