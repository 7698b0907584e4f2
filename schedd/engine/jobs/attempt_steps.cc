// Steps of attempts. Every input (a report of a member, an answer to an order, a decision to stop)
// goes through Step:
//
// 1. The dispatch state machine (schedd/dispatch/step) says from the row and the input what the
//    next row is, which order follows, and what the step means for the job (its effect).
// 2. A row that differs is written, the order is put into the transaction, and
// 3. ApplyEffect changes the job by the effect alone.
//
// Row, order and job are in one transaction, so no state of the job can exist without the row that
// explains it. An input about another attempt than the job's current one changes its row and never
// the job.
#include "schedd/base/fault_points.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/attempts.h"
#include "schedd/engine/live/remote_objects.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/step_changes.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

// True if the rows store the same. Key and name never change.
bool SameRow(const DispatchRow& a, const DispatchRow& b) {
  return a.state == b.state && a.remote_uid == b.remote_uid && a.incarnation == b.incarnation &&
         a.detail == b.detail;
}

// The best sentence that the observation has for a failure.
std::string FailureText(const Observation& seen) {
  if (!seen.message.empty()) return seen.message;
  if (seen.exit_signal != 0) return "Ended by signal " + std::to_string(seen.exit_signal);
  if (seen.exit_code.has_value()) return "Ended with exit code " + std::to_string(*seen.exit_code);
  return "The job failed on its member cluster";
}

// True if the member's own deadline has ended the job, and that deadline is as long as the job's
// maximum execution time: the user set both, or an earlier version wrote one as the other. Which of
// the two clocks fires first is chance, so both count as the maximum execution time (rule A53).
bool EndsByMaximumTime(const JobRecord& job, const DispatchRow& row, const Observation& seen) {
  return seen.phase == RemotePhase::kFailed && seen.reason == Reason::kDeadlineExceeded &&
         job.max_execution_s > 0 && job.time_limit_s == job.max_execution_s &&
         IsDispatched(job.state) && CurrentKey(job) == row.key && !IsTrue(job, "Evicted") &&
         !changes::IsCancelling(job) && dispatch::IsOurs(row, seen);
}

}  // namespace

// See the top of this file. `seen` is null for inputs that are no observations.
dispatch::Effect Attempts::Step(const DispatchKey& key, const dispatch::StepInput& input,
                                const Observation* seen) {
  const DispatchRow* row = rows_.Find(key);
  if (row == nullptr) return dispatch::Effect::kNone;
  if (seen != nullptr) NoteUse(*row, *seen);
  if (const JobPtr job = jobs_.Find(row->job);
      seen != nullptr && job != nullptr && EndsByMaximumTime(*job, *row, *seen)) {
    Deactivate(job, std::string(ReasonName(Reason::kMaximumExecutionTimeExceeded)));
    return dispatch::Effect::kNone;
  }
  const dispatch::StepResult result = dispatch::Step(*row, input);
  if (!SameRow(*row, result.row)) rows_.Put(result.row);
  if (result.action != dispatch::Action::kNone) {
    commits_.tx().orders.push_back({result.action, key, jobs_.Find(result.row.job),
                                    result.row.remote_uid, ObjectOf(result.row)});
  }
  ApplyEffect(result, seen);
  return result.effect;
}

// The row says whose steps they are, not the report. Those of an attempt that has ended for its job
// are closed with it.
bool Attempts::TakeSteps(Observation* seen) {
  std::vector<StepRecord>& steps = seen->steps;
  if (steps.empty()) return true;
  const DispatchRow* row = rows_.Find(seen->key);
  const JobPtr job = row == nullptr ? nullptr : jobs_.Find(row->job);
  if (job == nullptr || !dispatch::IsOurs(*row, *seen)) {
    steps.clear();
    return true;
  }
  const WallTime now = context_.clock.WallNow();
  const bool ended = !IsDispatched(job->state) || CurrentKey(*job) != row->key;
  std::size_t taken = 0, refused = 0;
  for (; taken < steps.size() && commits_.StepRoom() > 0; ++taken) {
    StepRecord& step = steps[taken];
    if (!changes::TakeReported(&step, job->id, row->key.attempt, now)) {
      ++refused;
      continue;
    }
    if (ended) changes::CloseUnended(&step, now);
    commits_.tx().PutStep(std::move(step));
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(taken));
  if (refused > 0) {
    Log(LogLevel::kWarning, "engine", "steps_refused",
        {{"job", job->id.value}, {"count", static_cast<std::int64_t>(refused)}});
  }
  return steps.empty();
}

// Before the step, which may end the attempt.
void Attempts::NoteUse(const DispatchRow& row, const Observation& seen) {
  if (seen.use == MeasuredUse{}) return;
  const JobPtr job = jobs_.Find(row.job);
  if (job != nullptr && IsDispatched(job->state) && CurrentKey(*job) == row.key &&
      dispatch::IsOurs(row, seen))
    jobs_.NoteUse(job->id, seen.use);
}

// A job whose attempt has another key is not concerned, but the last row that is Gone may end its
// deletion. kStarted of a job that already runs is progress.
void Attempts::ApplyEffect(const dispatch::StepResult& result, const Observation* seen) {
  using dispatch::Effect;
  const JobPtr job = jobs_.Find(result.row.job);
  if (job == nullptr) return;
  if (!IsDispatched(job->state) || CurrentKey(*job) != result.row.key) {
    if (result.row.state == DispatchState::kGone) FinishDeletion(job);
    return;
  }
  switch (result.effect) {
    case Effect::kStarted:
      if (job->state == JobState::kAdmitted) {
        const WallTime now = context_.clock.WallNow();
        jobs_.placed().AwaitFacts(jobs_.Put(job, changes::Started(*job, *seen, now), "JobStarted"),
                                  seen->observed_at.set() ? seen->observed_at : now);
        Reclaim(job->id, *seen);
        break;
      }
      [[fallthrough]];
    case Effect::kProgress:
      jobs_.PutSoft(
          job,
          [&](const JobRecord& one) {
        return changes::Progressed(one, *seen, context_.clock.WallNow());
          },
          true);
      Reclaim(job->id, *seen);
      break;
    case Effect::kSucceeded:
      EndSucceeded(job, *seen);
      break;
    case Effect::kFailed:
      End(job, JobEvent::kFail, seen->reason == Reason::kNone ? Reason::kFailed : seen->reason,
          FailureText(*seen), seen);
      break;
    case Effect::kStopped:
      if (changes::IsRequeuing(*job)) {
        RequeueStopped(job);
      } else {
        EndStopped(job, changes::StopText(*job));
      }
      break;
    case Effect::kRefused:
      End(job, JobEvent::kFail, Reason::kFailedToStart,
          "member cluster " + result.row.key.cluster + " will not run it: " + result.message,
          nullptr);
      break;
    case Effect::kLost:
      End(job, JobEvent::kFail, Reason::kLost,
          result.message.empty() ? "member cluster " + result.row.key.cluster + " lost it"
                                 : result.message,
          nullptr);
      break;
    case Effect::kRecreated:
    case Effect::kGivenUp:
      LeaveMember(job, result);
      break;
    case Effect::kWaiting:
      ShowStuck(job, result);
      break;
    case Effect::kNone:
    case Effect::kForeign:
      break;
  }
}

// An attempt that was stopped for good is gone. Why it was stopped is in the record.
void Attempts::EndStopped(const JobPtr& job, const std::string& message) {
  const auto [failed, reason] = changes::EndOfStop(*job);
  End(job, failed ? JobEvent::kFail : JobEvent::kCancel, reason, message, nullptr);
}

// A process that was killed for want of memory has not done its work, even if the member reports
// success. A Slurm script has failed then; for the other kinds the member's verdict stands and the
// reason shows OutOfMemory.
void Attempts::EndSucceeded(const JobPtr& job, const Observation& seen) {
  const bool out_of_memory = seen.reason == Reason::kOutOfMemory;
  std::string text = seen.message.empty() ? "Job finished successfully" : seen.message;
  if (out_of_memory && seen.message.empty()) text = "A process was killed: out of memory";
  const bool failed = out_of_memory && job->batch != nullptr;
  End(job, failed ? JobEvent::kFail : JobEvent::kSucceed,
      out_of_memory ? Reason::kOutOfMemory : Reason::kSucceeded, text, &seen);
}

// The attempt cannot go on now: the reason is shown, as a soft change, because it may be gone with
// the next report.
void Attempts::ShowStuck(const JobPtr& job, const dispatch::StepResult& result) {
  using dispatch::Action;
  // A list makes Orphans set aside the object that has the name.
  if (result.row.state == DispatchState::kQuarantined) commits_.OrderList(result.row.key.cluster);
  const std::string& member = result.row.key.cluster;
  // Some errors of backends name the member themselves.
  const std::string named = "member cluster " + member;
  std::string why = member;
  if (result.message.starts_with(named)) {
    why += result.message.substr(named.size());
  } else {
    why += (result.row.state == DispatchState::kUnknown ? " " : ": ") + result.message;
  }
  if (result.action == Action::kEnsureLater || result.action == Action::kRelease)
    why += "; trying again";
  jobs_.PutSoft(
      job, [&](const JobRecord& one) { return changes::Stuck(one, why); }, true);
}

// Reclaimable pods are a change of substance, unlike counts of pods: they are durable before other
// jobs get the quota (rule A10).
void Attempts::Reclaim(JobId id, const Observation& seen) {
  if (seen.reclaimable.empty() || !context_.settings().reclaimable_pods) return;
  const JobPtr job = jobs_.all().at(id);
  if (IsTrue(*job, "Evicted") || changes::IsCancelling(*job)) return;
  if (changes::Draft draft = changes::Reclaimed(*job, seen))
    jobs_.Put(job, std::move(draft), "JobQuotaReturned");
}

// The queue that the job was admitted in counts, not the one that its LocalQueue leads to now.
OnClusterLost Attempts::PolicyOf(const DispatchRow& row) const {
  const JobPtr job = jobs_.Find(row.job);
  if (job == nullptr) return {};
  const std::string& name =
      job->admission == nullptr ? job->cluster_queue : job->admission->cluster_queue;
  const auto& queues = config_.view()->cluster_queues;
  const auto queue = queues.find(name);
  return queue == queues.end() ? OnClusterLost{} : queue->second.on_cluster_lost;
}

// The attempt was written off (rule D16), though its pods may run on a member that does not answer.
// A job that was being cancelled ends as cancelled. Otherwise it runs again if its queue's policy
// says so or it was being requeued anyway, and if it may be requeued (rule B17); else it ends as
// Lost.
void Attempts::LeaveMember(const JobPtr& job, const dispatch::StepResult& result) {
  const std::string why = changes::StopText(*job);
  if (changes::IsCancelling(*job)) {
    EndStopped(job, why + "; " + result.message);
    return;
  }
  const ClusterLostPolicy policy = PolicyOf(result.row).policy;
  const bool again = policy == ClusterLostPolicy::kAfterTimeout ||
                     policy == ClusterLostPolicy::kAfterFence || changes::IsRequeuing(*job) ||
                     MUSTER_PLANTED(policy_wait_ignored);
  if (!again || policy == ClusterLostPolicy::kFail || !MayRequeue(*job)) {
    End(job, JobEvent::kFail, Reason::kLost, result.message, nullptr);
    return;
  }
  if (!changes::IsRequeuing(*job)) {
    EvictFor(job, Reason::kLost, {std::string(ReasonName(Reason::kLost)), "", result.message});
  }
  RequeueStopped(jobs_.all().at(job->id));
}

}  // namespace muster
