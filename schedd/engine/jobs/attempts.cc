// Attempts begin and end: admitted, started, stopped, ended, run again, cleaned up.
//
// An attempt begins with a row in the state Intent and an order to make its object; both leave with
// the commit that admits the job, so a member is never asked for an attempt that is not on record.
#include "schedd/engine/jobs/attempts.h"

#include "schedd/engine/context/object_names.h"
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

void Attempts::Admit(const core::PlannedAdmission& admit) {
  const JobPtr before = jobs_.Find(OwnerOf(admit.job->id));
  MUSTER_CHECK(before != nullptr);
  const ClusterQueue& queue = config_.view()->cluster_queues.at(admit.admission->cluster_queue);
  const WallTime now = context_.clock.WallNow();
  changes::Draft draft = changes::Reserved(*before, admit, queue, context_.settings(), now);
  context_.metrics.OnReserved(*draft, now);
  if (changes::GoOn(draft.get(), context_.settings(), now)) {
    Start(jobs_.Put(before, std::move(draft), "JobAdmitted"));
  } else {
    jobs_.Put(before, std::move(draft), "JobReserved");
  }
  // One more job here is one less to spread elsewhere.
  const QueueNames& waits_for_room = waiting_.waits_for_room();
  if (jobs_.placed().IsCounted(before->id))
    commits_.tx().wakes.insert(waits_for_room.begin(), waits_for_room.end());
}

void Attempts::GoOn(const JobPtr& reserved) {
  auto draft = std::make_shared<JobRecord>(*reserved);
  if (!changes::GoOn(draft.get(), context_.settings(), context_.clock.WallNow())) return;
  Start(jobs_.Put(reserved, std::move(draft), "JobAdmitted"));
}

void Attempts::CompletePlacement(const JobPtr& job, const core::PlannedAdmission& admit) {
  GoOn(jobs_.Put(job, changes::Completed(*job, admit), "JobPlaced"));
}

// The store would refuse a second row of one name, so it is looked for here: a batch script and a
// Job may bear the same one.
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
    // An attempt of its own that was written off may have left something, which goes before this
    // one is made.
    Step(DispatchKey(other->key), dispatch::Superseded{}, nullptr);
  }
  rows_.Put(row);
  commits_.tx().orders.push_back({dispatch::Action::kEnsure, row.key, job});
}

void Attempts::Stop(const JobPtr& job, Reason reason, const std::string& message, bool keep_logs) {
  const JobPtr marked = jobs_.Put(job, changes::Stopping(*job, reason, message), "JobStopping");
  Step(CurrentKey(*marked), dispatch::RevokeRequested{keep_logs}, nullptr);
}

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

void Attempts::RequeueStopped(const JobPtr& job) {
  const WallTime now = context_.clock.WallNow();
  const WallTime not_before = NextTry(*job, now);
  jobs_.Put(job, changes::BackToPending(*job, not_before, context_.settings(), now), "JobRequeued");
}

void Attempts::CleanUp(const JobPtr& job) {
  for (const DispatchKey& key : rows_.KeysOf(job->uid))
    Step(key, dispatch::CleanRequested{}, nullptr);
  FinishDeletion(job);
}

// The name is free only when no member can hold an object of that name any more.
void Attempts::FinishDeletion(const JobPtr& job) {
  const JobPtr now = jobs_.Find(job->id);
  if (now == nullptr) return;
  if (!now->deletion_requested || !IsTerminal(now->state) || rows_.HasAny(now->uid)) return;
  commits_.AddEvent("JobDeleted", now->id, ObjectName(*now), "", "");
  commits_.tx().deleted_jobs.push_back(now->id);
  jobs_.Leave(now);
}

}  // namespace muster
