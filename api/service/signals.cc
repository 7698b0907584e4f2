// Nothing of the world changes, so no command goes to the engine; what is sent is noted in the
// audit trail before the member is asked (rule U33).
//
// The member may find that the attempt has ended meanwhile: that is the same 409 as that of a job
// which does not run in the view.
#include "api/service/signals.h"

#include <utility>

#include "api/service/signal_name.h"
#include "schedd/base/limits_slurm_steps_store.h"
#include "schedd/model/plain_text.h"

namespace muster::api {
namespace {

Error DoesNotRun(const JobRecord& job, const std::string& why) {
  return Error{Code::kFailedPrecondition, "job " + std::to_string(job.id.value) + " " + why};
}

Status IsRunning(const JobRecord& job) {
  if (job.state == JobState::kRunning) return Done{};
  const std::string state(JobStateName(job.state));
  if (IsTerminal(job.state)) return DoesNotRun(job, "has ended (" + state + ")");
  return DoesNotRun(job, "does not run yet (" + state + ")");
}

std::string TargetText(const SignalOrder& order) {
  switch (order.target) {
    case SignalOrder::Target::kSteps:
      return "its steps";
    case SignalOrder::Target::kBatch:
      return "its batch shell";
    case SignalOrder::Target::kFull:
      return "all its processes";
    case SignalOrder::Target::kStep:
      return "step " + std::to_string(order.step);
  }
  return "";
}

std::string ObjectText(const JobRecord& job) { return "job/" + job.ns + "/" + job.name; }

// What the member answers, as the answer about the job.
Callback<Done> AnswerAbout(JobPtr job, Callback<JobPtr> done) {
  return [job = std::move(job), done = std::move(done)](Result<Done> outcome) {
    if (outcome.ok()) return done(job);
    if (outcome.error().code == Code::kNotFound)
      return done(DoesNotRun(*job, "does not run on its member any more"));
    done(outcome.error());
  };
}

// A job that runs, and where.
struct RunningAttempt {
  JobPtr job;
  DispatchKey key;
  Backend* backend = nullptr;
};

Result<RunningAttempt> RunningJob(const SchedulerService& service, const auth::Principal& who,
                                  const std::string& id, auth::Verb verb) {
  if (const Status ready = service.Ready(); !ready.ok()) return ready.error();
  const Result<JobPtr> job = service.JobFor(who, id, verb);
  if (!job.ok()) return job.error();
  if (const Status running = IsRunning(**job); !running.ok()) return running.error();
  DispatchKey key{(*job)->uid, (*job)->attempt, (*job)->cluster};
  const Result<Backend*> backend = service.BackendOf(key);
  if (!backend.ok()) return backend.error();
  return RunningAttempt{*job, std::move(key), *backend};
}

}  // namespace

void SignalJob(const SchedulerService& service, const auth::Principal& who, const std::string& id,
               const SignalOrder& order, Callback<JobPtr> done) {
  const Result<RunningAttempt> running = RunningJob(service, who, id, auth::Verb::kDelete);
  if (!running.ok()) return done(running.error());
  const Status noted = service.audit().Acts(who, "signal", ObjectText(*running->job),
                                            SignalName(order.signal) + " to " + TargetText(order));
  if (!noted.ok()) return done(noted.error());
  running->backend->Signal(running->key, order, AnswerAbout(running->job, std::move(done)));
}

void NotifyJob(const SchedulerService& service, const auth::Principal& who, const std::string& id,
               std::string message, Callback<JobPtr> done) {
  if (message.empty()) return done(InvalidField("message", "is required"));
  if (message.size() > limits::kNotifyMessageBytes) {
    return done(InvalidField(
        "message", "is longer than " + std::to_string(limits::kNotifyMessageBytes) + " bytes"));
  }
  // One line: what is no text of one line could forge others in the job's output.
  BoundText(&message, limits::kNotifyMessageBytes);
  const Result<RunningAttempt> running = RunningJob(service, who, id, auth::Verb::kUpdate);
  if (!running.ok()) return done(running.error());
  const Status noted = service.audit().Acts(who, "notify", ObjectText(*running->job), message);
  if (!noted.ok()) return done(noted.error());
  running->backend->Notify(running->key, message, AnswerAbout(running->job, std::move(done)));
}

}  // namespace muster::api
