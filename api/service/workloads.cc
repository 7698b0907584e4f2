// Use cases: what users and controllers change of a job after its submission. Holds
// SchedulerService::ReplaceJob (priority, activity, size, gates), ReplaceWorkloadStatus (answers of
// admission checks, reclaimable pods) and ReplaceCheckStatus (the condition Active of an
// AdmissionCheck).
//
// The caller gives the object as it is and as it should be; workload_edit.h and replace_job.h turn
// the differences into at most one command, which the engine fences with the job's resourceVersion.
// If nothing differs, the job is answered without a command.
#include <utility>

#include "api/service/post_command.h"
#include "api/service/replace_job.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"
#include "api/service/workload_edit.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::api {

void SchedulerService::ReplaceJob(const auth::Principal& who, const JobPtr& job,
                                  const json::value& now, const json::value& wanted,
                                  Callback<JobPtr> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "jobs", job->ns, job->name);
  if (!allowed.ok()) return done(allowed.error());
  json::value rest = wanted;
  Result<ReplaceJobCommand> replacement = TakeReplacement(*job, now, &rest);
  if (!replacement.ok()) return done(replacement.error());
  ChangeJobCommand command;
  command.actor = {who.user, who.method};
  const Result<bool> differs = ReadJobEdit(*job, now, rest, &command);
  if (!differs.ok()) return done(differs.error());
  if (!IsEmpty(*replacement)) {
    if (*differs) {
      return done(InvalidArgument(
          "change the size or the gates of a job in a request without other changes"));
    }
    replacement->actor = command.actor;
    replacement->expected_resource_version = command.expected_resource_version;
    return PostCommand<JobPtr>(engine_, std::move(*replacement), std::move(done));
  }
  const std::int64_t version = command.expected_resource_version;
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
    return ChangeJob(who, std::to_string(job->id.value), JobVerb::kRelease, std::move(done));
  }
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

void SchedulerService::ReplaceWorkloadStatus(const auth::Principal& who, const JobPtr& job,
                                             const json::value& now, const json::value& wanted,
                                             Callback<JobPtr> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "workloads/status", job->ns, job->name);
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
    command.actor = {who.user, who.method};
    command.job = job->id;
    command.reclaimable = std::move(edit->reclaimable);
    command.expected_resource_version = *version;
    return PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
  }
  if (edit->checks.empty()) return done(job);
  SetCheckStatusCommand command;
  command.actor = {who.user, who.method};
  command.job = job->id;
  command.checks = std::move(edit->checks);
  command.expected_resource_version = *version;
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

void SchedulerService::ReplaceCheckStatus(const auth::Principal& who, const std::string& name,
                                          const json::value& wanted, Callback<ObjectPtr> done) {
  const Status allowed = Allow(who, auth::Verb::kUpdate, "admissionchecks/status", "", name);
  if (!allowed.ok()) return done(allowed.error());
  SetCheckActiveCommand command;
  command.actor = {who.user, who.method};
  command.check = name;
  if (const Status read = ReadActivity(wanted, &command); !read.ok()) return done(read.error());
  PostCommand<ObjectPtr>(engine_, std::move(command), [done](Result<ObjectPtr> object) {
    object.ok() ? done(std::move(object)) : done(OfOnlyDocument(object.error()));
  });
}

}  // namespace muster::api
