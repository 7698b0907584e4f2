// What the members say: every report goes through the dispatch state machine, and its meaning for
// the job follows from the machine's effect alone.
#include <set>

#include "schedd/engine/impl.h"
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

}  // namespace

void Engine::Impl::StepRow(const DispatchKey& key, const dispatch::StepInput& input,
                           const Observation* seen) {
  const auto found = live.dispatches.find(key);
  if (found == live.dispatches.end()) return;
  const dispatch::StepResult result = dispatch::Step(found->second, input);
  if (!SameRow(found->second, result.row)) PutRow(result.row);
  if (result.action != dispatch::Action::kNone) {
    const auto job = live.jobs.find(result.row.job);
    tx.orders.push_back({result.action, key, job == live.jobs.end() ? nullptr : job->second,
                         result.row.remote_uid});
  }
  ApplyEffect(result, seen);
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
        Put(job, changes::Started(*job, *seen, clock.WallNow()), "JobStarted");
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
      EndJob(job, JobEvent::kSucceed, Reason::kSucceeded,
             seen->message.empty() ? "Job finished successfully" : seen->message, seen);
      break;
    case Effect::kFailed:
      EndJob(job, JobEvent::kFail, seen->reason == Reason::kNone ? Reason::kFailed : seen->reason,
             FailureText(*seen), seen);
      break;
    case Effect::kStopped:
      if (changes::IsRequeuing(*job)) {
        RequeueStopped(job);
      } else {
        EndJob(job, JobEvent::kCancel, Reason::kCancelled, job->message, nullptr);
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
    case Effect::kNone:
      if (result.action == dispatch::Action::kEnsureLater && !result.message.empty()) {
        const std::string text =
            "member cluster " + result.row.key.cluster + ": " + result.message + "; trying again";
        PutSoft(
            job,
            [&](const JobRecord& one) -> changes::Draft {
              if (one.state != JobState::kAdmitted || one.message == text) return nullptr;
              return changes::Stopping(one, Reason::kDispatching, text);
            },
            true);
      }
      break;
  }
}

// Unlike counts, what is given back is durable before others get it.
void Engine::Impl::Reclaim(JobId id, const Observation& seen) {
  if (seen.reclaimable.empty() || !options.settings->reclaimable_pods) return;
  const JobPtr job = live.jobs.at(id);
  if (IsTrue(*job, "Evicted") || changes::IsCancelling(*job)) return;
  if (changes::Draft draft = changes::Reclaimed(*job, seen))
    Put(job, std::move(draft), "JobReclaimed");
}

void Engine::Impl::Handle(ObservedCommand command) {
  StepRow(command.observation.key, dispatch::Observed{command.observation}, &command.observation);
}

void Engine::Impl::Handle(EnsuredCommand command) {
  if (command.outcome.ok()) {
    StepRow(command.key,
            dispatch::EnsureSucceeded{command.outcome->remote_uid, command.outcome->incarnation},
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

void Engine::Impl::Handle(FactsCommand command) {
  ClusterFacts& known = facts[command.facts.cluster];
  const bool same =
      known.cluster == command.facts.cluster && known.healthy == command.facts.healthy &&
      known.allocatable == command.facts.allocatable && known.labels == command.facts.labels;
  if (!same && known.healthy && !command.facts.healthy) {
    Log(LogLevel::kWarning, "engine", "member_unhealthy",
        {{"cluster", command.facts.cluster}, {"err", command.facts.message}});
  }
  const auto declared = live.config->member_clusters.find(command.facts.cluster);
  const bool serves = declared != live.config->member_clusters.end();
  const MemberCluster before = serves ? WithFacts(declared->second, facts) : MemberCluster{};
  known = std::move(command.facts);
  if (same) return;
  forest_known = false;
  if (serves) {
    QueueNames names = WokenByMember(&before, WithFacts(declared->second, facts), *live.config);
    names.insert(waits_for_room.begin(), waits_for_room.end());
    WakeQueues(names);
  }
  dirty = true;
}

void Engine::Impl::Handle(ListedCommand command) {
  std::set<DispatchKey> accounted(command.unsure.begin(), command.unsure.end());
  for (const Observation& seen : command.observations) {
    accounted.insert(seen.key);
    if (live.dispatches.contains(seen.key)) {
      StepRow(seen.key, dispatch::Observed{seen}, &seen);
    } else {
      HandleOrphan(seen);
    }
  }
  std::vector<DispatchKey> missing;
  for (const auto& [key, row] : live.dispatches) {
    if (key.cluster == command.cluster && IsLive(row.state) && !accounted.contains(key))
      missing.push_back(key);
  }
  for (const DispatchKey& key : missing) StepRow(key, dispatch::MissingFromList{}, nullptr);
}

// An object of ours without a row: its attempt is over, so it goes; but one that the store has
// never heard of says that the store lost writes, and then nothing is destroyed.
void Engine::Impl::HandleOrphan(const Observation& seen) {
  const auto job = store.FindJob(seen.key.job_uid);
  if (!job.ok()) {
    if (job.error().code == Code::kNotFound) {
      Log(LogLevel::kError, "engine", "unknown_object_left_alone",
          {{"cluster", seen.key.cluster},
           {"attempt", std::int64_t{seen.key.attempt}},
           {"reason", "no such job is stored"}});
    }
    return;
  }
  const JobPtr record = FindOrLoad(*job);
  if (record != nullptr && seen.key.attempt > record->attempt) {
    Log(LogLevel::kError, "engine", "unknown_object_left_alone",
        {{"cluster", seen.key.cluster},
         {"job", record->id.value},
         {"attempt", std::int64_t{seen.key.attempt}}});
    return;
  }
  metrics.corrections.Add();
  tx.orders.push_back({dispatch::Action::kRemove, seen.key, record, seen.remote_uid});
}

}  // namespace muster
