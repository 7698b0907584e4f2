// Evictions (rule A50): a job is marked first and holds its quota until its pods are proven gone;
// then it waits again. Both steps are in its record (conditions Evicted and Preempted), so a daemon
// that dies between them goes on with the second. A job without pods (reserved) does both steps at
// once.
//
// The next try. A job that a user requeued waits two minutes after its pods are gone, as in Slurm,
// or as long as its ClusterQueue says (muster.io/requeue-wait; rule B25). Every other eviction is
// free the first time; one that comes within a minute of the job's last chance to run waits 1, 2, 4
// ... 60 s (core::EvictionPace, rule A51). The time is in the job's record with an alarm, so a
// restart keeps a wait; how many evictions came in a row is in memory alone.
#include "schedd/lifecycle/evictions.h"

#include "schedd/base/quantity.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/attempts.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/shapes/parts/requeue_wait.h"

namespace muster {
// A job that may not be requeued is cancelled by its eviction (rule B17), and its logs are kept.
// The record may be gone afterwards if the job was being deleted; the marked one is returned then.
JobPtr Attempts::Evict(const JobPtr& job, changes::Draft evicted) {
  const bool runs = IsDispatched(job->state);
  const bool ends = changes::IsCancelling(*evicted);
  Continue(*job);
  context_.metrics.OnEvicted(*evicted, StateOf(*job).evictions.empty());
  const JobPtr marked = jobs_.Put(job, std::move(evicted), "JobEvicted");
  if (runs) {
    Step(CurrentKey(*marked), dispatch::RevokeRequested{ends}, nullptr);
  } else {
    RequeueStopped(marked);  // no pods: nothing to wait for
  }
  const JobPtr now = jobs_.Find(job->id);
  return now == nullptr ? marked : now;
}

JobPtr Attempts::EvictFor(const JobPtr& job, Reason reason, const EvictionNote& note) {
  return Evict(job, changes::Evicted(*job, reason, note, context_.clock.WallNow()));
}

// The victim may have changed since the snapshot: one that is on its way out already is left as it
// is. Only a preemption counts as such; a plan also evicts for other reasons, without a preemptor.
// A preemptor that is a stand-in is shown with the uids of its own entry and of its job.
void Attempts::Evict(const core::Eviction& eviction) {
  const JobPtr victim = jobs_.Find(eviction.victim->id);
  if (victim == nullptr) return;
  if (!changes::MayBeEvicted(*victim)) return;
  std::string uid, job_uid;
  JobId preemptor;
  if (eviction.preemptor != nullptr) {
    preemptor = OwnerOf(eviction.preemptor->id);
    uid = eviction.preemptor->uid.ToString();
    const JobPtr owner = jobs_.Find(preemptor);
    // Another partition has admitted it in this cycle.
    if (owner != nullptr && HasPartitions(*owner) && owner->state != JobState::kPending) return;
    job_uid = owner == nullptr ? uid : owner->uid.ToString();
  }
  if (eviction.reason == Reason::kPreempted) {
    context_.metrics.OnPreempted(eviction.preemptor->cluster_queue, eviction.preemption_reason);
    commits_.AddEvent("JobPreempting", preemptor, ObjectName(*eviction.preemptor),
                      "PreemptedWorkload", "Preempts job " + std::to_string(victim->id.value));
  }
  Evict(victim, changes::Evicted(*victim, eviction, uid, job_uid, context_.clock.WallNow()));
}

// A holder that is not being evicted yet is evicted with the deactivated record; any other job only
// changes its record.
void Attempts::Deactivate(const JobPtr& job, const std::string& cause) {
  changes::Draft draft = changes::Deactivated(*job, cause, context_.clock.WallNow());
  if (HoldsQuota(job->state) && !IsTrue(*job, "Evicted")) {
    Evict(job, std::move(draft));
  } else {
    jobs_.Put(job, std::move(draft), "JobDeactivated");
  }
}

// When a job whose attempt is gone may be tried again (see the top of this file). Without the wait
// of rule B25 a script that requeues itself would start thousands of times.
WallTime Attempts::NextTry(const JobRecord& evicted, WallTime now) {
  const Condition* why = FindCondition(evicted, "Evicted");
  if (why == nullptr) return now;
  if (why->reason != ReasonName(Reason::kRequeued)) return pace_.Note(evicted.id, now);
  if (!IsDispatched(evicted.state)) return now;  // nothing of it ran
  return AfterRequeueWait(evicted, now);
}

WallTime Attempts::AfterRequeueWait(const JobRecord& job, WallTime now) {
  const auto queue = config_.objects()->find({ObjectKind::kClusterQueue, "", job.cluster_queue});
  const StoredObject* object = queue == config_.objects()->end() ? nullptr : queue->second.get();
  return {SaturatingAdd(now.us, shapes::RequeueWaitMs(object) * kMicrosPerMilli)};
}

JobPtr Attempts::RunAgain(const JobPtr& job, const std::string& by) {
  const WallTime now = context_.clock.WallNow();
  return jobs_.Put(
      job, changes::RunAgain(*job, by, AfterRequeueWait(*job, now), context_.settings(), now),
      "JobRequeued");
}

// For causes that end at a moment that the engine knows: a queue goes on, a user activates the job.
JobPtr Attempts::Retry(const JobPtr& job, std::string_view reason, const std::string& message) {
  return jobs_.Put(job, changes::Requeued(*job, reason, message, context_.clock.WallNow()),
                   "JobRequeued");
}

}  // namespace muster
