// Use cases: what users and controllers change of a job after its submission. Holds
// SchedulerService::ReplaceJob (priority, activity, size, gates), ReplaceWorkloadStatus (answers of
// admission checks, reclaimable pods) and ReplaceCheckStatus (the condition Active of an
// AdmissionCheck).
//
// The caller gives the object as it is and as it should be; workload_edit.h and replace_job.h turn
// the differences into at most one command, which the engine fences with the job's resourceVersion.
// If nothing differs, the job is answered without a command.
#include <utility>

#include "api/service/actor.h"
#include "api/service/job_rights.h"
#include "api/service/post_command.h"
#include "api/service/replace_job.h"
#include "api/service/resource_refs.h"
#include "api/service/scheduler_service.h"
#include "api/service/tenancy.h"
#include "api/service/validate.h"
#include "api/service/workload_edit.h"
#include "api/service/workload_name.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Whether the caller may change what `now` shows: the job's Workload, or the job as its own kind.
Status MayWrite(const auth::Authorizer& authorizer, const auth::Principal& who, auth::Verb verb,
                const JobRecord& job, const json::value& now) {
  if (ViewAt(now, "kind") != "Workload") return MayJob(authorizer, who, verb, job);
  const std::string name = WorkloadNameOf(job);
  if (job.user == who.user &&
      authorizer.Allows(who, verb, WorkloadRef(job.ns, name, kOwnSubresource)))
    return Done{};
  return authorizer.Authorize(who, verb, WorkloadRef(job.ns, name));
}

// Refuses a change of what was read before the job was changed last.
Status CheckFresh(const JobRecord& job, const json::value& wanted) {
  const Result<std::int64_t> version = WantedVersion(wanted);
  if (!version.ok()) return version.error();
  if (*version == 0 || *version == job.resource_version) return Done{};
  return Aborted("the job has been changed since it was read: its resourceVersion is " +
                 std::to_string(job.resource_version));
}

}  // namespace

void SchedulerService::ReplaceJob(const auth::Principal& who, auth::Verb verb, const JobPtr& job,
                                  const json::value& now, const json::value& wanted,
                                  Callback<JobPtr> done) {
  const Status allowed = MayWrite(authorizer_, who, verb, *job, now);
  if (!allowed.ok()) return done(allowed.error());
  // What was read before shows other values of fields that are the server's, so this comes first.
  if (const Status fresh = CheckFresh(*job, wanted); !fresh.ok()) return done(fresh.error());
  json::value rest = wanted;
  Result<ReplaceJobCommand> replacement = TakeReplacement(*job, now, &rest);
  if (!replacement.ok()) return done(replacement.error());
  ChangeJobCommand command;
  command.actor = ActorOf(who);
  const Result<bool> differs = ReadJobEdit(*job, now, rest, &command);
  if (!differs.ok()) return done(differs.error());
  const std::int64_t version = command.expected_resource_version;
  const Status within = CheckPriorityEdit(*engine_.View(), *job, who, authorizer_, &command);
  if (!within.ok()) return done(within.error());
  if (!IsEmpty(*replacement)) {
    if (*differs) {
      return done(InvalidArgument(
          "change the size or the gates of a job in a request without other changes"));
    }
    replacement->actor = command.actor;
    replacement->expected_resource_version = version;
    return PostCommand<JobPtr>(engine_, std::move(*replacement), std::move(done));
  }
  if (!*differs) {
    if (version == 0 || version == job->resource_version) return done(job);
    return done(Aborted("the job has been changed since it was read: its resourceVersion is " +
                        std::to_string(job->resource_version)));
  }
  // A held job shows spec.active false although it is not deactivated; setting it true releases the
  // job.
  if (command.active == true && StateOf(*job).active) {
    if (command.priority_class || command.priority_boost)
      return done(InvalidField("spec.active", "release a held job in a request of its own"));
    return PostVerb(who, JobVerb::kRelease, job->id, std::move(done));
  }
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

void SchedulerService::ReplaceWorkloadStatus(const auth::Principal& who, auth::Verb verb,
                                             const JobPtr& job, const json::value& now,
                                             const json::value& wanted, Callback<JobPtr> done) {
  const Status allowed = authorizer_.Authorize(
      who, verb, WorkloadRef(job->ns, WorkloadNameOf(*job), kStatusSubresource));
  if (!allowed.ok()) return done(allowed.error());
  const Result<std::int64_t> version = WantedVersion(wanted);
  if (!version.ok()) return done(version.error());
  if (*version != 0 && *version != job->resource_version) {
    return done(Aborted("the workload has been changed since it was read: its resourceVersion is " +
                        std::to_string(job->resource_version)));
  }
  Result<StatusEdit> edit = ReadStatusEdit(*job, now, wanted);
  if (!edit.ok()) return done(edit.error());
  if (edit->reclaimable) {
    ChangeJobCommand command;
    command.actor = ActorOf(who);
    command.job = job->id;
    command.reclaimable = std::move(edit->reclaimable);
    command.expected_resource_version = *version;
    return PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
  }
  if (edit->checks.empty()) return done(job);
  SetCheckStatusCommand command;
  command.actor = ActorOf(who);
  command.job = job->id;
  command.checks = std::move(edit->checks);
  command.expected_resource_version = *version;
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

void SchedulerService::ReplaceCheckStatus(const auth::Principal& who, auth::Verb verb,
                                          const std::string& name, const json::value& wanted,
                                          Callback<ObjectPtr> done) {
  const Status allowed = authorizer_.Authorize(
      who, verb, RefOf(shapes::InfoOf(ObjectKind::kAdmissionCheck), "", name, kStatusSubresource));
  if (!allowed.ok()) return done(allowed.error());
  SetCheckActiveCommand command;
  command.actor = ActorOf(who);
  command.check = name;
  if (const Status read = ReadActivity(wanted, &command); !read.ok()) return done(read.error());
  PostCommand<ObjectPtr>(engine_, std::move(command), [done](Result<ObjectPtr> object) {
    object.ok() ? done(std::move(object)) : done(OfOnlyDocument(object.error()));
  });
}

}  // namespace muster::api
