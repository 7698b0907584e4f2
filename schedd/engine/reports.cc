// What the members say: every report goes through the dispatch state machine, and its meaning for
// the job follows from the machine's effect alone.
#include <set>

#include "schedd/engine/impl.h"
#include "schedd/engine/remote_objects.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

bool SameRow(const DispatchRow& a, const DispatchRow& b) {
  return a.state == b.state && a.remote_uid == b.remote_uid && a.incarnation == b.incarnation &&
         a.detail == b.detail;
}

std::string FailureText(const Observation& seen) {
  if (!seen.message.empty()) return seen.message;
  if (seen.exit_signal != 0) return "Ended by signal " + std::to_string(seen.exit_signal);
  if (seen.exit_code.has_value()) return "Ended with exit code " + std::to_string(*seen.exit_code);
  return "The job failed on its member cluster";
}

// A member's own deadline that is as long as the maximum execution time (the user has set both, or
// an earlier version wrote the one as the other): which of the two is told first is chance, what it
// means is not.
bool EndsByMaximumTime(const JobRecord& job, const DispatchRow& row, const Observation& seen) {
  return seen.phase == RemotePhase::kFailed && seen.reason == Reason::kDeadlineExceeded &&
         job.max_execution_s > 0 && job.time_limit_s == job.max_execution_s &&
         IsDispatched(job.state) && CurrentKey(job) == row.key && !IsTrue(job, "Evicted") &&
         !changes::IsCancelling(job) && dispatch::IsOurs(row, seen);
}

}  // namespace

dispatch::Effect Engine::Impl::StepRow(const DispatchKey& key, const dispatch::StepInput& input,
                                       const Observation* seen) {
  const auto found = live.dispatches.find(key);
  if (found == live.dispatches.end()) return dispatch::Effect::kNone;
  if (const auto job = live.jobs.find(found->second.job);
      seen != nullptr && job != live.jobs.end() &&
      EndsByMaximumTime(*job->second, found->second, *seen)) {
    Deactivate(job->second, std::string(ReasonName(Reason::kMaximumExecutionTimeExceeded)));
    return dispatch::Effect::kNone;
  }
  const dispatch::StepResult result = dispatch::Step(found->second, input);
  if (!SameRow(found->second, result.row)) PutRow(result.row);
  if (result.action != dispatch::Action::kNone) {
    const auto job = live.jobs.find(result.row.job);
    tx.orders.push_back({result.action, key, job == live.jobs.end() ? nullptr : job->second,
                         result.row.remote_uid, ObjectOf(result.row)});
  }
  ApplyEffect(result, seen);
  return result.effect;
}

void Engine::Impl::ApplyEffect(const dispatch::StepResult& result, const Observation* seen) {
  using dispatch::Effect;
  const auto found = live.jobs.find(result.row.job);
  if (found == live.jobs.end()) return;
  const JobPtr job = found->second;
  if (!IsDispatched(job->state) || CurrentKey(*job) != result.row.key) {
    if (result.row.state == DispatchState::kGone) FinishDeletion(job);
    return;
  }
  switch (result.effect) {
    case Effect::kStarted:
      if (job->state == JobState::kAdmitted) {
        const WallTime now = clock.WallNow();
        placed_jobs.AwaitFacts(Put(job, changes::Started(*job, *seen, now), "JobStarted"),
                               seen->observed_at.set() ? seen->observed_at : now);
        Reclaim(job->id, *seen);
        break;
      }
      [[fallthrough]];
    case Effect::kProgress:
      PutSoft(
          job,
          [&](const JobRecord& one) { return changes::Progressed(one, *seen, clock.WallNow()); },
          true);
      Reclaim(job->id, *seen);
      break;
    case Effect::kSucceeded:
      EndSucceeded(job, *seen);
      break;
    case Effect::kFailed:
      EndJob(job, JobEvent::kFail, seen->reason == Reason::kNone ? Reason::kFailed : seen->reason,
             FailureText(*seen), seen);
      break;
    case Effect::kStopped:
      if (changes::IsRequeuing(*job)) {
        RequeueStopped(job);
      } else {
        EndJob(job, JobEvent::kCancel, Reason::kCancelled, changes::StopText(*job), nullptr);
      }
      break;
    case Effect::kRefused:
      EndJob(job, JobEvent::kFail, Reason::kFailedToStart,
             "member cluster " + result.row.key.cluster + " will not run it: " + result.message,
             nullptr);
      break;
    case Effect::kLost:
      EndJob(job, JobEvent::kFail, Reason::kLost,
             result.message.empty() ? "member cluster " + result.row.key.cluster + " lost it"
                                    : result.message,
             nullptr);
      break;
    case Effect::kRecreated:
    case Effect::kGivenUp:
      LeaveMember(job, result);
      break;
    case Effect::kWaiting:
      ShowStuck(job, result);
      break;
    case Effect::kNone:
    case Effect::kForeign:
      break;
  }
}

// What a process was killed for want of memory in has not done all that it was to do, whatever it
// says of itself. A script of Slurm's has failed then; of the other kinds the member has the say.
void Engine::Impl::EndSucceeded(const JobPtr& job, const Observation& seen) {
  const bool out_of_memory = seen.reason == Reason::kOutOfMemory;
  std::string text = seen.message.empty() ? "Job finished successfully" : seen.message;
  if (out_of_memory && seen.message.empty()) text = "A process was killed: out of memory";
  const bool failed = out_of_memory && job->batch != nullptr;
  EndJob(job, failed ? JobEvent::kFail : JobEvent::kSucceed,
         out_of_memory ? Reason::kOutOfMemory : Reason::kSucceeded, text, &seen);
}

void Engine::Impl::ShowStuck(const JobPtr& job, const dispatch::StepResult& result) {
  using dispatch::Action;
  // Whatever has the name there is looked at, and set aside.
  if (result.row.state == DispatchState::kQuarantined)
    tx.orders.push_back({Action::kList, DispatchKey{{}, 0, result.row.key.cluster}});
  std::string why = result.row.key.cluster;
  why += (result.row.state == DispatchState::kUnknown ? " " : ": ") + result.message;
  if (result.action == Action::kEnsureLater || result.action == Action::kRelease)
    why += "; trying again";
  PutSoft(
      job, [&](const JobRecord& one) { return changes::Stuck(one, why); }, true);
}

// Unlike counts, what is given back is durable before others get it.
void Engine::Impl::Reclaim(JobId id, const Observation& seen) {
  if (seen.reclaimable.empty() || !options.settings->reclaimable_pods) return;
  const JobPtr job = live.jobs.at(id);
  if (IsTrue(*job, "Evicted") || changes::IsCancelling(*job)) return;
  if (changes::Draft draft = changes::Reclaimed(*job, seen))
    Put(job, std::move(draft), "JobQuotaReturned");
}

void Engine::Impl::Handle(ObservedCommand command) {
  StepRow(command.observation.key, dispatch::Observed{command.observation}, &command.observation);
  held_ends.See(command.observation, live.dispatches);
}

void Engine::Impl::Handle(EnsuredCommand command) {
  if (command.outcome.ok()) {
    StepRow(command.key,
            dispatch::EnsureSucceeded{command.outcome->remote_uid, command.outcome->incarnation,
                                      command.outcome->suspended},
            nullptr);
  } else {
    StepRow(command.key,
            dispatch::EnsureFailed{command.outcome.error().code, command.outcome.error().detail},
            nullptr);
    stand_ins->NoteResized(command);
  }
}

void Engine::Impl::Handle(RemovedCommand command) {
  if (command.outcome.ok()) {
    StepRow(command.key, dispatch::RemoveSucceeded{}, nullptr);
  } else {
    StepRow(command.key,
            dispatch::RemoveFailed{command.outcome.error().code, command.outcome.error().detail},
            nullptr);
  }
}

void Engine::Impl::Handle(ConfirmedCommand command) {
  const auto row = live.dispatches.find(command.key);
  if (row == live.dispatches.end() || row->second.remote_uid != command.uid) return;
  if (!command.outcome.ok()) {
    StepRow(command.key, dispatch::ConfirmFailed{command.outcome.error().detail}, nullptr);
    return;
  }
  const std::string note = command.outcome->note;
  const auto found = live.jobs.find(row->second.job);
  const std::string job = found == live.jobs.end() ? "" : ObjectName(*found->second);
  if (!note.empty() && !job.empty()) {
    AddEvent(command.outcome->there ? "MemberObjectMended" : "MemberLeftoversRemoved",
             row->second.job, job, "", note);
  }
  // One that is there is told of by its member again.
  if (!command.outcome->there) StepRow(command.key, dispatch::ProvenGone{note}, nullptr);
}

// It was taken for somebody else's as long as its uid was not on record.
void Engine::Impl::Account(const Observation& seen, std::set<DispatchKey>* accounted) {
  accounted->insert(seen.key);
  const auto aside = live.set_aside.find({seen.key.cluster, seen.remote_uid});
  if (aside != live.set_aside.end()) WriteAside(SetAsideObject(aside->second), true);
}

void Engine::Impl::Handle(ListedCommand command) {
  unlisted.erase(command.cluster);
  const std::set<DispatchKey> unsure(command.unsure.begin(), command.unsure.end());
  std::set<DispatchKey> accounted = unsure;
  std::set<std::string> uids;
  for (const Observation& seen : command.observations) {
    uids.insert(seen.remote_uid);
    const auto row = live.dispatches.find(seen.key);
    if (row == live.dispatches.end()) {
      HandleOrphan(seen, nullptr);
      continue;
    }
    // A copy under our labels says nothing of our own object.
    if (dispatch::IsOurs(row->second, seen)) Account(seen, &accounted);
    if (row->second.state == DispatchState::kTerminal) FenceResurrected(row->second, seen);
    const dispatch::Effect effect = StepRow(seen.key, dispatch::Observed{seen}, &seen);
    held_ends.See(seen, live.dispatches);
    if (effect == dispatch::Effect::kForeign && !unsure.contains(seen.key))
      HandleOrphan(seen, &row->second);
  }
  held_ends.TakeList(command.cluster, accounted);
  ForgetAbsent(command.cluster, uids);
  std::vector<DispatchKey> missing;
  for (const auto& [key, row] : live.dispatches) {
    const bool may_be_missing = IsLive(row.state) || row.state == DispatchState::kLost;
    if (key.cluster == command.cluster && may_be_missing && !accounted.contains(key))
      missing.push_back(key);
  }
  for (const DispatchKey& key : missing) StepRow(key, dispatch::MissingFromList{}, nullptr);
}

}  // namespace muster
