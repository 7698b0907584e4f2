// Commands of controllers and users about a job's admission: states of admission checks (rule A49),
// and edits of activity, priority and reclaimable pods (rule A58).
//
// Each command is checked as a whole before anything changes: the version that the client has read,
// then each field. All fields go into one draft; one Put makes it the record. Then follow the
// consequences: checks may evict the job or let it go on, a change of priority wakes its tree, a
// change of activity deactivates or retries it.
#include "schedd/engine/jobs/admission_commands.h"

#include <algorithm>

#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/lifecycle/evictions.h"
#include "schedd/model/member_queues.h"

namespace muster {
namespace {

// Names of pod sets and counts must fit the job. While the job holds quota, fewer reclaimable pods
// than before are refused: others may have the quota by now (KEP-78).
Status CheckReclaimable(const JobRecord& job, const std::vector<ReclaimablePods>& wanted) {
  for (const ReclaimablePods& pods : wanted) {
    const auto set = std::find_if(job.pod_sets->begin(), job.pod_sets->end(),
                                  [&](const PodSet& one) { return one.name == pods.pod_set; });
    if (set == job.pod_sets->end())
      return WrongField("reclaimablePods", "there is no pod set " + pods.pod_set);
    if (pods.count < 0 || pods.count > set->count) {
      return WrongField("reclaimablePods", "pod set " + pods.pod_set + " has only " +
                                               std::to_string(set->count) + " pods");
    }
  }
  for (const ReclaimablePods& before : StateOf(job).reclaimable) {
    const auto after = std::find_if(wanted.begin(), wanted.end(), [&](const ReclaimablePods& one) {
      return one.pod_set == before.pod_set;
    });
    const bool fewer = after == wanted.end() || after->count < before.count;
    if (fewer && HoldsQuota(job.state))
      return WrongField("reclaimablePods", "what was given back stays given back");
  }
  return Done{};
}

// Optimistic locking; 0 means that the client does not care.
Status CheckVersion(const JobRecord& job, std::int64_t expected) {
  if (expected == 0 || expected == job.resource_version) return Done{};
  return Aborted("job " + std::to_string(job.id.value) +
                 " has been changed since it was read: its resourceVersion is " +
                 std::to_string(job.resource_version));
}

// Writes the state of one check into the draft. `podSetUpdates` of a dispatched job may not change
// any more, because its pods were made with them.
Status TakeAnswer(const AdmissionCheckStatus& answer, WallTime now, JobRecord* job) {
  const auto& checks = StateOf(*job).checks;
  const auto at = std::find_if(checks.begin(), checks.end(), [&](const AdmissionCheckStatus& one) {
    return one.name == answer.name;
  });
  if (at == checks.end() || !changes::MayBeEvicted(*job)) {
    return Error{Code::kFailedPrecondition, "job " + std::to_string(job->id.value) +
                                                " does not wait for admission check " +
                                                answer.name};
  }
  if (IsDispatched(job->state) && answer.updates != at->updates) {
    return WrongField("status.admissionChecks[" + answer.name + "].podSetUpdates",
                      "cannot be changed once the workload is admitted");
  }
  AdmissionCheckStatus next = *at;
  next.state = answer.state;
  next.message = answer.message;
  next.requeue_after_s = answer.requeue_after_s;
  next.updates = answer.updates;
  if (next.state != at->state) next.last_transition = now;
  ChangeState(job, [&](AdmissionState* state) {
    state->checks[static_cast<std::size_t>(at - checks.begin())] = next;
  });
  return Done{};
}

}  // namespace

// Audited as "check" if it succeeds; schedd/nomination, which answers for members' own queues, has
// no user name and no row.
void AdmissionCommands::Handle(SetCheckStatusCommand command) {
  const auto outcome = SetCheck(command);
  if (outcome.ok() && !command.actor.user.empty()) {
    std::string answers;
    for (const AdmissionCheckStatus& check : command.checks)
      answers += (answers.empty() ? "" : ", ") + check.name;
    commits_.AddAudit(command.actor, "check", ObjectName(**outcome), answers, 0,
                      (*outcome)->resource_version);
  }
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// Audited as "change" if it succeeds.
void AdmissionCommands::Handle(ChangeJobCommand command) {
  const auto outcome = ChangeSpec(command);
  if (outcome.ok())
    commits_.AddAudit(command.actor, "change", ObjectName(**outcome), "", 0,
                      (*outcome)->resource_version);
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// The check of members' own queues is answered by schedd/nomination alone, whose actor has no user
// name. An answer that changes nothing writes nothing. Retry or Rejected of any check evicts; else
// the job is dispatched if it was the last check.
Result<JobPtr> AdmissionCommands::SetCheck(const SetCheckStatusCommand& command) {
  const JobPtr job = jobs_.Find(command.job);
  if (job == nullptr) return NoSuchJob(command.job);
  const Status fresh = CheckVersion(*job, command.expected_resource_version);
  if (!fresh.ok()) return fresh.error();
  const WallTime now = context_.clock.WallNow();
  auto draft = std::make_shared<JobRecord>(*job);
  for (const AdmissionCheckStatus& answer : command.checks) {
    if (answer.name == kMemberQueuesCheck && !command.actor.user.empty())
      return WrongField("status.admissionChecks", answer.name + " is answered by Muster alone");
    const Status taken = TakeAnswer(answer, now, draft.get());
    if (!taken.ok()) return taken.error();
  }
  if (StateOf(*draft).checks == StateOf(*job).checks) return job;
  const JobPtr changed = jobs_.Put(job, std::move(draft), "JobCheckUpdated");
  if (changes::Draft evicted = changes::EvictedByChecks(*changed, now)) {
    attempts_.Evict(changed, std::move(evicted));
  } else {
    attempts_.GoOn(changed);
  }
  return jobs_.all().at(job->id);
}

// The fields go in first; activity is changed last, as an eviction or a retry of the record with
// the new fields. A first priority class may be named only before quota is held (rule A9).
Result<JobPtr> AdmissionCommands::ChangeSpec(const ChangeJobCommand& command) {
  const JobPtr job = jobs_.Find(command.job);
  if (job == nullptr) return NoSuchJob(command.job);
  if (IsTerminal(job->state)) {
    return Error{Code::kFailedPrecondition,
                 "job " + std::to_string(job->id.value) + " has already ended"};
  }
  const Status fresh = CheckVersion(*job, command.expected_resource_version);
  if (!fresh.ok()) return fresh.error();
  auto draft = std::make_shared<JobRecord>(*job);
  if (command.priority_class) {
    const auto known = config_.view()->priority_classes.find(*command.priority_class);
    if (known == config_.view()->priority_classes.end()) {
      return WrongField("priorityClass",
                        "WorkloadPriorityClass \"" + *command.priority_class + "\" does not exist");
    }
    if (HoldsQuota(job->state) && job->priority_class.empty()) {
      return WrongField("priorityClass", "it cannot be added once quota is reserved");
    }
    draft->priority_class = *command.priority_class;
    draft->priority = known->second.value;
  }
  if (command.priority_boost) draft->priority_boost = *command.priority_boost;
  if (command.reclaimable) {
    const Status allowed = CheckReclaimable(*job, *command.reclaimable);
    if (!allowed.ok()) return allowed.error();
  }
  ChangeState(draft.get(), [&](AdmissionState* state) {
    if (command.reclaimable) state->reclaimable = *command.reclaimable;
  });
  JobPtr changed = jobs_.Put(job, std::move(draft), "JobChanged");
  jobs_.WakeTreeAfterCommit(changed->cluster_queue);
  const bool active = StateOf(*changed).active;
  if (command.active.has_value() && *command.active != active) {
    if (active) {
      attempts_.Deactivate(changed, "");
    } else {
      auto back = std::make_shared<JobRecord>(*changed);
      ChangeState(back.get(), [](AdmissionState* state) { state->active = true; });
      changed = jobs_.Put(changed, std::move(back), "JobChanged");
      if (!HoldsQuota(changed->state))
        attempts_.Retry(changed, "Reactivated", "The workload was reactivated");
    }
  }
  return jobs_.all().at(job->id);
}

}  // namespace muster
