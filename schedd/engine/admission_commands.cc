// What controllers and users change of a job's admission: checks, activity, priority, pods given
// back.
#include <algorithm>

#include "schedd/engine/impl.h"
#include "schedd/model/member_queues.h"

namespace muster {
namespace {

Error NoSuchJob(JobId id) {
  return NotFound("job " + std::to_string(id.value) + " does not exist");
}

// Fewer pods given back than before would take quota that others may have by now (KEP-78).
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

Status CheckVersion(const JobRecord& job, std::int64_t expected) {
  if (expected == 0 || expected == job.resource_version) return Done{};
  return Aborted("job " + std::to_string(job.id.value) +
                 " has been changed since it was read: its resourceVersion is " +
                 std::to_string(job.resource_version));
}

// What one check says, into the record. Of a job that runs it may no longer change the pods.
Status TakeAnswer(const AdmissionCheckStatus& answer, WallTime now, JobRecord* job) {
  const auto& checks = StateOf(*job).checks;
  const auto at = std::find_if(checks.begin(), checks.end(), [&](const AdmissionCheckStatus& one) {
    return one.name == answer.name;
  });
  const bool waits =
      HoldsQuota(job->state) && !IsTrue(*job, "Evicted") && !changes::IsCancelling(*job);
  if (at == checks.end() || !waits) {
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

// The queue of the member that it was admitted by does not let it run any more.
bool IsTakenBack(const JobRecord& job) {
  const AdmissionCheckStatus* check = MemberQueuesCheck(job);
  return IsDispatched(job.state) && check != nullptr && check->state == CheckState::kRetry;
}

}  // namespace

void Engine::Impl::Handle(SetCheckStatusCommand command) {
  const auto outcome = SetCheck(command);
  AnswerJob(std::move(command.done), outcome);
}

void Engine::Impl::Handle(ChangeJobCommand command) {
  const auto outcome = ChangeSpec(command);
  if (outcome.ok()) AddAudit(command.actor, "change", ObjectName(**outcome), "");
  AnswerJob(std::move(command.done), outcome);
}

void Engine::Impl::AnswerJob(Callback<JobPtr> done, const Result<JobPtr>& outcome) {
  if (!outcome.ok()) {
    answers.push_back([done = std::move(done), error = outcome.error()] { done(error); });
    return;
  }
  AnswerAfterCommit([done = std::move(done), job = *outcome](const Error* error) {
    if (error != nullptr) {
      done(*error);
    } else {
      done(job);
    }
  });
}

Result<JobPtr> Engine::Impl::SetCheck(const SetCheckStatusCommand& command) {
  const auto found = live.jobs.find(command.job);
  if (found == live.jobs.end()) return NoSuchJob(command.job);
  const JobPtr job = found->second;
  const Status fresh = CheckVersion(*job, command.expected_resource_version);
  if (!fresh.ok()) return fresh.error();
  const WallTime now = clock.WallNow();
  auto draft = std::make_shared<JobRecord>(*job);
  for (const AdmissionCheckStatus& answer : command.checks) {
    if (answer.name == kMemberQueuesCheck && !command.actor.user.empty())
      return WrongField("status.admissionChecks", answer.name + " is answered by Muster alone");
    const Status taken = TakeAnswer(answer, now, draft.get());
    if (!taken.ok()) return taken.error();
  }
  if (StateOf(*draft).checks == StateOf(*job).checks) return job;
  const JobPtr changed = Put(job, std::move(draft), "JobCheckUpdated");
  if (const auto rejected = RejectionEviction(*changed)) {
    Evict(changed, Reason::kDeactivated, [&](JobRecord* one) {
      ChangeState(one, [](AdmissionState* state) {
        state->active = false;
        state->deactivation_cause = ReasonName(Reason::kAdmissionCheck);
      });
      MarkEvicted(one, *rejected, now);
    });
  } else if (const auto retry = RetryEviction(*changed)) {
    const auto again_at = RetryAt(*changed);
    const bool taken_back = IsTakenBack(*changed);
    const Reason reason = taken_back ? Reason::kMemberEvicted : Reason::kAdmissionCheck;
    const EvictionNote note = taken_back
                                  ? EvictionNote{std::string(ReasonName(reason)), "",
                                                 "Evicted: " + MemberQueuesCheck(*changed)->message}
                                  : *retry;
    Evict(changed, reason, [&](JobRecord* one) {
      if (again_at) DelayRequeue(one, *again_at);
      MarkEvicted(one, note, now);
    });
  } else {
    GoOn(changed);
  }
  return live.jobs.at(job->id);
}

// A reserved job whose last check is ready is dispatched.
void Engine::Impl::GoOn(const JobPtr& reserved) {
  if (reserved->state != JobState::kReserved || IsTrue(*reserved, "Evicted")) return;
  auto draft = std::make_shared<JobRecord>(*reserved);
  const WallTime now = clock.WallNow();
  SyncAdmitted(draft.get(), *options.settings, now);
  if (!IsTrue(*draft, "Admitted")) return;
  changes::Dispatch(draft.get(), now);
  StartAttempt(Put(reserved, std::move(draft), "JobAdmitted"));
}

Result<JobPtr> Engine::Impl::ChangeSpec(const ChangeJobCommand& command) {
  const auto found = live.jobs.find(command.job);
  if (found == live.jobs.end()) return NoSuchJob(command.job);
  const JobPtr job = found->second;
  if (IsTerminal(job->state)) {
    return Error{Code::kFailedPrecondition,
                 "job " + std::to_string(job->id.value) + " has already ended"};
  }
  const Status fresh = CheckVersion(*job, command.expected_resource_version);
  if (!fresh.ok()) return fresh.error();
  auto draft = std::make_shared<JobRecord>(*job);
  if (command.priority_class) {
    const auto known = live.config->priority_classes.find(*command.priority_class);
    if (known == live.config->priority_classes.end()) {
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
  JobPtr changed = Put(job, std::move(draft), "JobChanged");
  WakeTreeAfterCommit(changed->cluster_queue);
  const bool active = StateOf(*changed).active;
  if (command.active.has_value() && *command.active != active) {
    if (active) {
      Deactivate(changed, "");
    } else {
      auto back = std::make_shared<JobRecord>(*changed);
      ChangeState(back.get(), [](AdmissionState* state) { state->active = true; });
      changed = Put(changed, std::move(back), "JobChanged");
      if (!HoldsQuota(changed->state))
        Requeued(changed, "Reactivated", "The workload was reactivated");
    }
  }
  return live.jobs.at(job->id);
}

}  // namespace muster
