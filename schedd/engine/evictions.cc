// Evictions (rule A50): a job is marked first and holds its quota until its pods are gone;
// then it waits again. Both steps are in its row, so a daemon that dies between them goes on.
#include "schedd/base/quantity.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins.h"
#include "schedd/shapes/parts/requeue_wait.h"

namespace muster {
namespace {

constexpr std::int64_t kMicrosPerMilli = 1000;

}  // namespace

JobPtr Engine::Impl::Evict(const JobPtr& job, Reason reason, const Mark& mark) {
  auto draft = std::make_shared<JobRecord>(*job);
  mark(draft.get());
  draft->reason = reason;
  draft->message = FindCondition(*draft, "Evicted")->message;
  const bool runs = IsDispatched(job->state);
  const bool ends = runs && !MayRequeue(*job);  // rule B17, --no-requeue
  if (ends) {
    draft->reason = Reason::kCancelled;
    draft->message += ", and the job may not be requeued";
  }
  metrics.OnEvicted(*draft, StateOf(*job).evictions.empty());
  const JobPtr marked = Put(job, std::move(draft), "JobEvicted");
  if (runs) {
    StepRow(CurrentKey(*marked), dispatch::RevokeRequested{ends}, nullptr);
  } else {
    RequeueStopped(marked);  // no pods: nothing to wait for
  }
  const auto now = live.jobs.find(job->id);
  return now == live.jobs.end() ? marked : now->second;
}

JobPtr Engine::Impl::EvictFor(const JobPtr& job, Reason reason, const EvictionNote& note) {
  return Evict(job, reason, [&](JobRecord* draft) { MarkEvicted(draft, note, clock.WallNow()); });
}

// What a plan decided. A victim that is on its way out already is only waited for.
void Engine::Impl::Evict(const core::Eviction& eviction) {
  const auto found = live.jobs.find(eviction.victim->id);
  if (found == live.jobs.end()) return;
  const JobPtr victim = found->second;
  if (!HoldsQuota(victim->state) || changes::IsCancelling(*victim) || IsTrue(*victim, "Evicted"))
    return;
  std::string uid, job_uid;
  JobId preemptor;
  if (eviction.preemptor != nullptr) {
    preemptor = OwnerOf(eviction.preemptor->id);
    uid = eviction.preemptor->uid.ToString();
    const auto owner = live.jobs.find(preemptor);
    job_uid = owner == live.jobs.end() ? uid : owner->second->uid.ToString();
  }
  const std::string message = core::EvictionMessage(eviction, uid, job_uid);
  const WallTime now = clock.WallNow();
  if (eviction.reason == Reason::kPreempted) {
    metrics.OnPreempted(eviction.preemptor->cluster_queue, eviction.preemption_reason);
    AddEvent("JobPreempting", preemptor, ObjectName(*eviction.preemptor), "PreemptedWorkload",
             "Preempts job " + std::to_string(victim->id.value));
  }
  Evict(victim, eviction.reason, [&](JobRecord* draft) {
    if (eviction.reason == Reason::kPreempted) {
      MarkPreempted(draft, eviction.preemption_reason, message, now);
    } else {
      MarkEvicted(draft, {std::string(ReasonName(eviction.reason)), "", message}, now);
    }
  });
}

// Takes a job out of the queue, or off its member, until somebody activates it again. `cause` is
// why Muster does it; "" if a user did.
void Engine::Impl::Deactivate(const JobPtr& job, const std::string& cause) {
  const auto deactivated = [&](JobRecord* draft) {
    ChangeState(draft, [&](AdmissionState* state) {
      state->active = false;
      state->deactivation_cause = cause;
    });
  };
  if (HoldsQuota(job->state) && !IsTrue(*job, "Evicted")) {
    Evict(job, Reason::kDeactivated, [&](JobRecord* draft) {
      deactivated(draft);
      MarkEvicted(draft, DeactivationEviction(*draft), clock.WallNow());
    });
    return;
  }
  auto draft = std::make_shared<JobRecord>(*job);
  deactivated(draft.get());
  if (!HoldsQuota(draft->state)) {
    MarkEvicted(draft.get(), DeactivationEviction(*draft), clock.WallNow());
    changes::SayWhyItWaits(draft.get());
  }
  Put(job, std::move(draft), "JobDeactivated");
}

// When a job whose attempt is gone may be tried again. One that somebody requeued waits as Slurm
// lets it (rule B25), or a script that requeues itself starts thousands of times; what is
// evicted again and again backs off.
WallTime Engine::Impl::NextTry(const JobRecord& evicted, WallTime now) {
  const Condition* why = FindCondition(evicted, "Evicted");
  if (why == nullptr) return now;
  if (why->reason != ReasonName(Reason::kRequeued)) return eviction_pace.Note(evicted.id, now);
  if (!IsDispatched(evicted.state)) return now;  // nothing of it ran
  const auto queue = live.objects->find({ObjectKind::kClusterQueue, "", evicted.cluster_queue});
  const StoredObject* object = queue == live.objects->end() ? nullptr : queue->second.get();
  return {SaturatingAdd(now.us, shapes::RequeueWaitMs(object) * kMicrosPerMilli)};
}

// What kept a waiting job from being tried is over.
JobPtr Engine::Impl::Requeued(const JobPtr& job, std::string_view reason,
                              const std::string& message) {
  auto draft = std::make_shared<JobRecord>(*job);
  MarkRequeued(draft.get(), reason, message, clock.WallNow());
  changes::SayWhyItWaits(draft.get());
  return Put(job, std::move(draft), "JobRequeued");
}

}  // namespace muster
