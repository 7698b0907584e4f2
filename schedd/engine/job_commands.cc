// Cancel, hold, release, requeue and delete: what users and administrators ask of one job.
#include "schedd/engine/impl.h"

namespace muster {
namespace {

const char* VerbName(JobVerb verb) {
  switch (verb) {
    case JobVerb::kCancel:
      return "cancel";
    case JobVerb::kHold:
      return "hold";
    case JobVerb::kRelease:
      return "release";
    case JobVerb::kRequeue:
      return "requeue";
    case JobVerb::kDelete:
      return "delete";
  }
  return "";
}

std::string JobText(const JobRecord& job) { return "job " + std::to_string(job.id.value); }

Error Refused(const JobRecord& job, const std::string& why) {
  return {Code::kFailedPrecondition, JobText(job) + " " + why};
}

Error AlreadyEnded(const JobRecord& job) {
  return Refused(job, "has already ended: " + std::string(JobStateName(job.state)));
}

}  // namespace

Result<JobPtr> Engine::Impl::FindOrLoad(JobId id) {
  const auto found = live.jobs.find(id);
  if (found != live.jobs.end()) return found->second;
  // Ended long ago: nobody but this thread changes it, so the store's answer is current.
  auto loaded = store.ReadJob(id);
  if (loaded.ok() && (*loaded == nullptr || !IsTerminal((*loaded)->state)))
    return NotFound("job " + std::to_string(id.value) + " does not exist");
  return loaded;
}

void Engine::Impl::Handle(JobCommand command) {
  const Result<JobPtr> job = FindOrLoad(command.id);
  Result<JobPtr> outcome = job;
  if (job.ok()) {
    outcome = ChangeJob(command, *job);
  } else if (job.error().code == Code::kNotFound) {
    outcome = NotFound("job " + std::to_string(command.id.value) + " does not exist");
  }
  if (outcome.ok())
    AddAudit(command.actor, VerbName(command.verb), ObjectName(**job), JobText(**job));
  AnswerJob(std::move(command.done), outcome);
}

Result<JobPtr> Engine::Impl::ChangeJob(const JobCommand& command, const JobPtr& job) {
  if (command.verb == JobVerb::kDelete) return Delete(job, command.actor.user);
  if (IsTerminal(job->state)) return AlreadyEnded(*job);
  switch (command.verb) {
    case JobVerb::kCancel:
      return Cancel(command, job);
    case JobVerb::kHold:
      return Hold(job);
    case JobVerb::kRelease:
      return Release(job);
    case JobVerb::kRequeue:
      return Requeue(command, job);
    case JobVerb::kDelete:
      break;
  }
  return Internal("unknown verb");
}

Result<JobPtr> Engine::Impl::Cancel(const JobCommand& command, const JobPtr& job) {
  const std::string message = "Cancelled by " + command.actor.user;
  if (!IsDispatched(job->state))
    return EndJob(job, JobEvent::kCancel, Reason::kCancelled, message, nullptr);
  if (changes::IsCancelling(*job)) return job;
  StopAttempt(job, Reason::kCancelled, message, true);
  return live.jobs.at(job->id);
}

Result<JobPtr> Engine::Impl::Hold(const JobPtr& job) {
  if (job->state == JobState::kHeld) return job;
  if (job->state == JobState::kPending) return Put(job, changes::Held(*job), "JobHeld");
  if (changes::IsRequeuing(*job)) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->suspended_by_user = true;
    return Put(job, std::move(draft), "JobHeld");
  }
  return Refused(*job, "has been admitted and cannot be held: requeue it, then hold it");
}

Result<JobPtr> Engine::Impl::Release(const JobPtr& job) {
  if (job->state == JobState::kPending) return job;
  if (job->state == JobState::kHeld) return Put(job, changes::Released(*job), "JobReleased");
  if (changes::IsRequeuing(*job) && job->suspended_by_user) {
    auto draft = std::make_shared<JobRecord>(*job);
    draft->suspended_by_user = false;
    return Put(job, std::move(draft), "JobReleased");
  }
  return Refused(*job, "is not held");
}

Result<JobPtr> Engine::Impl::Requeue(const JobCommand& command, const JobPtr& job) {
  if (!HoldsQuota(job->state)) return Refused(*job, "is not running");
  if (changes::IsCancelling(*job)) return Refused(*job, "is being cancelled");
  if (changes::IsRequeuing(*job)) return job;
  if (!MayRequeue(*job))
    return Refused(*job, "was submitted with --no-requeue: cancel it and submit it again");
  return EvictFor(
      job, Reason::kRequeued,
      {std::string(ReasonName(Reason::kRequeued)), "", "Requeued by " + command.actor.user});
}

JobPtr Engine::Impl::Delete(const JobPtr& job, const std::string& by) {
  if (job->deletion_requested) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  draft->deletion_requested = true;
  if (!live.jobs.contains(job->id)) Enter(job);  // it comes back into memory
  const JobPtr doomed = Put(job, std::move(draft), "JobDeleting");
  const std::string message = "Deleted by " + by;
  if (IsTerminal(doomed->state)) {
    CleanUp(doomed);
  } else if (!IsDispatched(doomed->state)) {
    return EndJob(doomed, JobEvent::kCancel, Reason::kCancelled, message, nullptr);
  } else if (!changes::IsCancelling(*doomed)) {
    StopAttempt(doomed, Reason::kCancelled, message, false);
  }
  const auto found = live.jobs.find(job->id);
  return found == live.jobs.end() ? doomed : found->second;
}

}  // namespace muster
