// The verbs that users have for one job. Each is idempotent where Slurm's command is: cancelling a
// job that is being cancelled, holding a held job and releasing a waiting one change nothing and
// answer with the record. A verb that the job's state does not allow is refused with
// kFailedPrecondition and a sentence.
//
// A running job cannot be changed at once: cancel, requeue and delete mark its record and stop its
// attempt, and the job ends or waits again when the attempt is proven gone (Attempts). Hold and
// release of a job that is being requeued set the flag by which it comes back as Held or Pending.
#include "schedd/engine/jobs/job_commands.h"

#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/evictions.h"

namespace muster {
namespace {

std::string JobText(const JobRecord& job) { return "job " + std::to_string(job.id.value); }

Error AlreadyEnded(const JobRecord& job) {
  return Refused(job, "has already ended: " + std::string(JobStateName(job.state)));
}

}  // namespace

// A job that is not in memory ended long ago (Retention). Only this thread changes jobs, so the
// store's record of it is current. A stored job that is neither in memory nor ended cannot be
// commanded: kNotFound.
Result<JobPtr> JobCommands::FindOrLoad(JobId id) {
  if (JobPtr found = jobs_.Find(id); found != nullptr) return found;
  auto loaded = context_.store.ReadJob(id);
  if (loaded.ok() && (*loaded == nullptr || !IsTerminal((*loaded)->state)))
    return NotFound("job " + std::to_string(id.value) + " does not exist");
  return loaded;
}

// Audited if it succeeds, also if nothing changed: a user did ask.
void JobCommands::Handle(JobCommand command) {
  if (!command.tasks.empty()) {
    const Result<JobPtr> changed = ChangeTasks(command);
    if (changed.ok()) {
      commits_.AddAudit(command.actor, JobVerbName(command.verb), ObjectName(**changed),
                        "job " + std::to_string(command.id.value) + "_[" +
                            IndexText(command.tasks) + "]",
                        0, (*changed)->resource_version);
    }
    return commits_.AnswerOutcome(std::move(command.done), changed);
  }
  const Result<JobPtr> job = FindOrLoad(command.id);
  Result<JobPtr> outcome = job;
  if (job.ok()) {
    outcome = ChangeJob(command, *job);
  } else if (job.error().code == Code::kNotFound) {
    outcome = NotFound("job " + std::to_string(command.id.value) + " does not exist");
  }
  if (outcome.ok())
    commits_.AddAudit(command.actor, JobVerbName(command.verb), ObjectName(**job), JobText(**job),
                      (*job)->resource_version, (*outcome)->resource_version);
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// An ended job can only be deleted, and a script requeued.
Result<JobPtr> JobCommands::ChangeJob(const JobCommand& command, const JobPtr& job) {
  if (command.verb == JobVerb::kDelete) return Delete(job, command.actor.user);
  if (IsTerminal(job->state) && command.verb == JobVerb::kRequeue) return RunAgain(command, job);
  if (IsTerminal(job->state)) return AlreadyEnded(*job);
  switch (command.verb) {
    case JobVerb::kCancel:
      return Cancel(command, job);
    case JobVerb::kHold:
      return Hold(command, job);
    case JobVerb::kRelease:
      return Release(command, job);
    case JobVerb::kRequeue:
      return Requeue(command, job);
    case JobVerb::kSuspend:
      return batch_.Suspend(job);
    case JobVerb::kResume:
      return batch_.Resume(job);
    case JobVerb::kKeep:
      return batch_.Keep(job);
    case JobVerb::kDelete:
      break;
  }
  return Internal("unknown verb");
}

// Without an attempt the job ends at once. With one its logs are kept on the member, as a user may
// want to know how far it came.
Result<JobPtr> JobCommands::Cancel(const JobCommand& command, const JobPtr& job) {
  const std::string message = "Cancelled by " + command.actor.user;
  if (!IsDispatched(job->state))
    return attempts_.End(job, JobEvent::kCancel, Reason::kCancelled, message, nullptr);
  if (changes::IsCancelling(*job)) return job;
  attempts_.Stop(job, Reason::kCancelled, message, true);
  return jobs_.all().at(job->id);
}

// A job that waits is held, and one that is being requeued; a script that runs is held as soon as
// it is requeued, as in Slurm (rule B25). An operator's hold takes the place of a user's, not the
// other way round.
Result<JobPtr> JobCommands::Hold(const JobCommand& command, const JobPtr& job) {
  const bool waits = job->state == JobState::kHeld || job->state == JobState::kPending;
  const bool marks = command.by_operator && !BatchStateOf(*job).held_by_admin;
  if (job->batch != nullptr && IsDispatched(job->state) && changes::MayBeEvicted(*job)) {
    if (job->suspended_by_user && !marks) return job;
    return jobs_.Put(job, changes::HeldWhileRunning(*job, marks, context_.clock.WallNow()),
                     "JobHeld");
  }
  if (!waits && !changes::IsRequeuing(*job))
    return Refused(*job, "has been admitted and cannot be held: requeue it, then hold it");
  if (job->suspended_by_user && !marks) return job;
  changes::Draft draft;
  if (waits) {
    draft = changes::Held(*job);
  } else {
    draft = std::make_shared<JobRecord>(*job);
    draft->suspended_by_user = true;
  }
  if (marks) {
    changes::ChangeBatch(draft.get(), [](BatchState* state) { state->held_by_admin = true; });
    if (waits) changes::SayWhyItWaits(draft.get());
  }
  return jobs_.Put(job, std::move(draft), "JobHeld");
}

Result<JobPtr> JobCommands::Release(const JobCommand& command, const JobPtr& job) {
  if (job->state == JobState::kPending) return job;
  const bool running = job->suspended_by_user && HoldsQuota(job->state);
  if (job->state != JobState::kHeld && !running) return Refused(*job, "is not held");
  if (BatchStateOf(*job).held_by_admin && !command.by_operator) {
    return Error{Code::kPermissionDenied,
                 JobText(*job) + " is held by an operator, who alone may release it"};
  }
  return jobs_.Put(job, running ? changes::ReleasedWhileRunning(*job) : changes::Released(*job),
                   "JobReleased");
}

// scontrol requeuehold: it comes back held, and is marked if the caller says so.
JobPtr JobCommands::MarkHold(const JobCommand& command, const JobPtr& job) {
  const bool held_before = IsTrue(*job, changes::kHeldCondition);
  if (!command.hold || (job->suspended_by_user && !held_before)) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  draft->suspended_by_user = true;
  DropCondition(draft.get(), changes::kHeldCondition);
  if (command.special_exit)
    changes::ChangeBatch(draft.get(), [](BatchState* state) { state->special_exit = true; });
  return jobs_.Put(job, std::move(draft), "JobHeld");
}

// A requeue is an eviction with the reason Requeued; NextTry then adds the wait of rule B25.
Result<JobPtr> JobCommands::Requeue(const JobCommand& command, const JobPtr& job) {
  if (!HoldsQuota(job->state)) return Refused(*job, "is not running");
  if (changes::IsCancelling(*job)) return Refused(*job, "is being cancelled");
  if (changes::IsRequeuing(*job)) return MarkHold(command, job);
  if (!MayRequeue(*job))
    return Refused(*job, "was submitted with --no-requeue: cancel it and submit it again");
  return attempts_.EvictFor(
      MarkHold(command, job), Reason::kRequeued,
      {std::string(ReasonName(Reason::kRequeued)), "", "Requeued by " + command.actor.user});
}

// An ended script, as long as it is in memory (Slurm's MinJobAge). Tasks of an array that were
// cancelled before they started have no record each and stay as they are.
Result<JobPtr> JobCommands::RunAgain(const JobCommand& command, const JobPtr& job) {
  const bool script = job->batch != nullptr && !job->batch->allocation_only && !IsArrayRecord(*job);
  if (!script || job->deletion_requested || jobs_.Find(job->id) == nullptr)
    return AlreadyEnded(*job);
  if (!MayRequeue(*job)) return Refused(*job, "was submitted with --no-requeue: submit it again");
  return attempts_.RunAgain(MarkHold(command, job), command.actor.user);
}

// Also called by Retention and Alarms. The mark makes the deletion survive a crash
// (Recovery::CleanUpDeleted). Ended: its objects are removed. Without an attempt: it ends, and End
// cleans up. With one: the attempt is stopped without keeping logs, and the end does the rest.
JobPtr JobCommands::Delete(const JobPtr& job, const std::string& by) {
  if (job->deletion_requested) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  draft->deletion_requested = true;
  // FindOrLoad has read it from the store: it comes back into memory until it is gone.
  if (!jobs_.all().contains(job->id)) jobs_.Enter(job);
  const JobPtr doomed = jobs_.Put(job, std::move(draft), "JobDeleting");
  const std::string message = "Deleted by " + by;
  if (IsTerminal(doomed->state)) {
    attempts_.CleanUp(doomed);
  } else if (!IsDispatched(doomed->state)) {
    return attempts_.End(doomed, JobEvent::kCancel, Reason::kCancelled, message, nullptr);
  } else if (!changes::IsCancelling(*doomed)) {
    attempts_.Stop(doomed, Reason::kCancelled, message, false);
  }
  const JobPtr now = jobs_.Find(job->id);
  return now == nullptr ? doomed : now;
}

}  // namespace muster
