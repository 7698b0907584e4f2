// Attempts begin and end: admitted, dispatched, stopped, ended, run again, cleaned up.
// (evictions.cc and attempt_steps.cc have the other methods of Attempts.)
//
// Invariant: an attempt begins with a row in Intent and an order to create its object (rule D7).
// Both are in the transaction that makes the job admitted, so a member is never asked for an
// attempt that is not on record. And an attempt ends for the job only when it is proven gone or
// written off: quota goes back with the record that End or RequeueStopped puts, never before.
#include "schedd/engine/jobs/attempts.h"

#include <csignal>

#include "schedd/base/fault_points.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/engine/live/remote_objects.h"
#include "schedd/lifecycle/admissions.h"

namespace muster {

Attempts::Attempts(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
                   WaitingJobs& waiting, LiveJobs& jobs, DispatchRows& rows)
    : context_(context),
      commits_(commits),
      config_(config),
      waiting_(waiting),
      jobs_(jobs),
      rows_(rows) {}

// What a stand-in got is its job's (OwnerOf). If checks are open, the job is reserved and
// dispatched later by GoOn; else it is dispatched at once.
void Attempts::Admit(const core::PlannedAdmission& admit) {
  const JobPtr before = jobs_.Find(OwnerOf(admit.job->id));
  MUSTER_CHECK(before != nullptr);
  if (!HasPartitions(*before)) return Admit(before, admit);
  Admit(InPartitionOf(before, *admit.job), admit);
}

// The job as it is in the partition of the entry that is admitted. A queue other than at acceptance
// is stored with the AdmissionState.
JobPtr Attempts::InPartitionOf(const JobPtr& job, const JobRecord& entry) {
  if (entry.id == job->id) return job;
  auto moved = std::make_shared<JobRecord>(*job);
  moved->local_queue = entry.local_queue;
  moved->cluster_queue = entry.cluster_queue;
  moved->batch_state = entry.batch_state;
  ChangeState(moved.get(), [](AdmissionState*) {});
  commits_.tx().respecified.insert(job->id);
  return jobs_.Put(job, std::move(moved), "JobMoved");
}

void Attempts::Admit(const JobPtr& before, const core::PlannedAdmission& admit) {
  const ClusterQueue& queue = config_.view()->cluster_queues.at(admit.admission->cluster_queue);
  const WallTime now = context_.clock.WallNow();
  changes::Draft draft = changes::Reserved(*before, admit, queue, context_.settings(), now);
  if (MUSTER_PLANTED(gang_in_part) && draft->admission->pod_sets.size() > 1) {
    auto part = std::make_shared<Admission>(*draft->admission);
    part->pod_sets.pop_back();
    draft->admission = std::move(part);
  }
  context_.metrics.OnReserved(*draft, now);
  if (changes::GoOn(draft.get(), context_.settings(), now)) {
    Start(jobs_.Put(before, std::move(draft), "JobAdmitted"));
  } else {
    jobs_.Put(before, std::move(draft), "JobReserved");
  }
  // With a spread constraint one more job here may open another member to jobs of the same
  // placement.
  const QueueNames& waits_for_room = waiting_.waits_for_room();
  if (jobs_.placed().IsCounted(before->id))
    commits_.tx().wakes.insert(waits_for_room.begin(), waits_for_room.end());
}

// No effect while something of the admission is open.
void Attempts::GoOn(const JobPtr& reserved) {
  auto draft = std::make_shared<JobRecord>(*reserved);
  if (!changes::GoOn(draft.get(), context_.settings(), context_.clock.WallNow())) return;
  Start(jobs_.Put(reserved, std::move(draft), "JobAdmitted"));
}

// The placement was what GoOn waited for, or it replaced a failed machine of a running job; in the
// latter case GoOn does nothing.
void Attempts::CompletePlacement(const JobPtr& job, const core::PlannedAdmission& admit) {
  GoOn(jobs_.Put(job, changes::Completed(*job, admit), "JobPlaced"));
}

// The store would refuse a second row with one object name (rule D2), so the name is looked up
// first: a batch script and a Job may have the same one. The name of another job, or of a live
// attempt, fails the start.
void Attempts::Start(const JobPtr& job) {
  const DispatchRow row = IntentOf(*job);
  context_.metrics.OnAdmitted(*job);
  if (const DispatchRow* other = rows_.HolderOfName(row); other != nullptr) {
    if (other->job != row.job || IsLive(other->state)) {
      End(job, JobEvent::kFail, Reason::kFailedToStart,
          "member cluster " + job->cluster + " has a " + row.object_kind + " " + row.ns + "/" +
              row.name + " already, of job " + std::to_string(other->job.value),
          nullptr);
      return;
    }
    // An attempt of this job that was written off may have left an object; it is removed before
    // this attempt is created.
    if (!MUSTER_PLANTED(name_not_given_up))
      Step(DispatchKey(other->key), dispatch::Superseded{}, nullptr);
  }
  if (!MUSTER_PLANTED(attempt_row_forgotten)) rows_.Put(row);
  commits_.tx().orders.push_back({dispatch::Action::kEnsure, row.key, job});
}

// The record is marked first, so that it says why; the order to remove leaves with the same commit.
void Attempts::Stop(const JobPtr& job, Reason reason, const std::string& message, bool keep_logs) {
  Continue(*job);
  const JobPtr marked = jobs_.Put(job, changes::Stopping(*job, reason, message), "JobStopping");
  Step(CurrentKey(*marked), dispatch::RevokeRequested{keep_logs}, nullptr);
}

void Attempts::Signal(const JobRecord& job, int signal) {
  SignalOrder order;
  order.signal = signal;
  order.target = SignalOrder::Target::kFull;
  commits_.tx().waiters.push_back(
      [&orders = context_.orders, key = CurrentKey(job), order](const Error* error) {
    if (error == nullptr) orders.Signal(key, order);
  });
}

// Processes that are stopped would not see that they are to end.
void Attempts::Continue(const JobRecord& job) {
  if (IsDispatched(job.state) && BatchStateOf(job).suspended_since.set()) Signal(job, SIGCONT);
}

// A deletion that was asked for goes on with the end.
JobPtr Attempts::End(const JobPtr& job, JobEvent how, Reason reason, const std::string& message,
                     const Observation* seen) {
  const char* event = how == JobEvent::kSucceed ? "JobSucceeded"
                      : how == JobEvent::kFail  ? "JobFailed"
                                                : "JobCancelled";
  const JobPtr ended = jobs_.Put(
      job, changes::Ended(*job, how, reason, message, seen, context_.clock.WallNow()), event);
  context_.metrics.OnFinished(*ended);
  pace_.Forget(ended->id);
  if (ended->deletion_requested) CleanUp(ended);
  return ended;
}

// The quota is given back here, in the same record that makes the job wait (rule A50, release).
void Attempts::RequeueStopped(const JobPtr& job) {
  const WallTime now = context_.clock.WallNow();
  const WallTime not_before = NextTry(*job, now);
  jobs_.Put(job, changes::BackToPending(*job, not_before, context_.settings(), now), "JobRequeued");
}

// Each row's object is removed from its member; without rows the deletion is over at once.
void Attempts::CleanUp(const JobPtr& job) {
  for (const DispatchKey& key : rows_.KeysOf(job->uid))
    Step(key, dispatch::CleanRequested{}, nullptr);
  FinishDeletion(job);
}

// The job's name is free only when no member can hold an object of that name any more, so the last
// row must be gone.
void Attempts::FinishDeletion(const JobPtr& job) {
  const JobPtr now = jobs_.Find(job->id);
  if (now == nullptr) return;
  if (!now->deletion_requested || !IsTerminal(now->state) || rows_.HasAny(now->uid)) return;
  commits_.AddEvent("JobDeleted", now->id, ObjectName(*now), "", "");
  commits_.tx().deleted_jobs.push_back(now->id);
  jobs_.Leave(now);
}

}  // namespace muster
