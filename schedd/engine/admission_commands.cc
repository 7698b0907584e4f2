// What controllers and users change of a job's admission: checks, activity, priority, pods given
// back.
#include <algorithm>

#include "schedd/engine/impl.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

Error NoSuchJob(JobId id) {
  return NotFound("job " + std::to_string(id.value) + " does not exist");
}

Error WrongField(const char* field, std::string sentence) {
  Error error = InvalidArgument(sentence);
  error.fields.push_back({field, std::move(sentence)});
  return error;
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
  const auto& checks = StateOf(*job).checks;
  const auto at = std::find_if(checks.begin(), checks.end(), [&](const AdmissionCheckStatus& one) {
    return one.name == command.check;
  });
  if (at == checks.end() || !HoldsQuota(job->state) || IsTrue(*job, "Evicted")) {
    return Error{Code::kFailedPrecondition, "job " + std::to_string(job->id.value) +
                                                " does not wait for admission check " +
                                                command.check};
  }
  AdmissionCheckStatus next = *at;
  next.state = command.state;
  next.message = command.message;
  next.requeue_after_s = command.requeue_after_s;
  next.updates = command.updates;
  if (next == *at) return job;
  const WallTime now = clock.WallNow();
  if (next.state != at->state) next.last_transition = now;
  auto draft = std::make_shared<JobRecord>(*job);
  ChangeState(draft.get(), [&](AdmissionState* state) {
    state->checks[static_cast<std::size_t>(at - checks.begin())] = next;
  });
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
    Evict(changed, Reason::kAdmissionCheck, [&](JobRecord* one) {
      if (again_at) DelayRequeue(one, *again_at);
      MarkEvicted(one, *retry, now);
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
  tx.flush_all = true;
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

void Engine::Impl::Handle(SetCheckActiveCommand command) {
  const auto answer = [this, &command](Result<ObjectPtr> result) {
    answers.push_back(
        [done = std::move(command.done), result = std::move(result)] { done(result); });
  };
  const auto found = live.objects->find({ObjectKind::kAdmissionCheck, "", command.check});
  if (found == live.objects->end())
    return answer(NotFound("AdmissionCheck " + command.check + " does not exist"));
  auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok() || !manifest->is_object())
    return answer(Internal("AdmissionCheck " + command.check + " is unreadable"));
  manifest->as_object()["status"] =
      json::object{{"conditions", json::array{{{"type", "Active"},
                                               {"status", command.active ? "True" : "False"},
                                               {"reason", command.reason},
                                               {"message", command.message}}}}};
  ObjectChange change;
  change.kind = ObjectKind::kAdmissionCheck;
  change.name = command.check;
  change.manifest = WriteJson(*manifest);
  auto outcome = Apply(command.actor, {change}, false);
  if (!outcome.ok()) return answer(outcome.error());
  AnswerAfterCommit(
      [done = std::move(command.done), object = outcome->front().object](const Error* error) {
        if (error != nullptr) {
          done(*error);
        } else {
          done(object);
        }
      });
}

}  // namespace muster
