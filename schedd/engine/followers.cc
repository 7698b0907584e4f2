// Followers: everything that is kept in step with the records of jobs in memory. A job enters,
// changes and leaves here and nowhere else, so that no follower is forgotten.
#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {

void Engine::Impl::Enter(const JobPtr& job) {
  live.jobs[job->id] = job;
  live.planned.Move(nullptr, job.get());
  placed_jobs.Move(nullptr, job);
  fair.Adopt(*live.config, *job);
  if (HoldsQuota(job->state) && job->admission != nullptr)
    live.holders.Put(HolderOf(live.planned.usage().tree(), *options.settings, job));
  SetAlarm(*job);
  OfferSecondPass(job);
  if (changes::MayQueue(*job)) live.pending.Add(job, clock.WallNow());
  stand_ins->Queue(job);
}

// What a change makes waiting is queued when the change is durable.
void Engine::Impl::Change(const JobPtr& before, const JobPtr& job) {
  live.planned.Move(before.get(), job.get());
  const bool held = HoldsQuota(before->state) && before->admission != nullptr;
  const bool holds = HoldsQuota(job->state) && job->admission != nullptr;
  if (held || holds) TrackHolder(*before, job, holds);
  placed_jobs.Move(before.get(), job);
  const bool waited = changes::MayQueue(*before);
  const bool waits = changes::MayQueue(*job);
  if (waited && !waits) live.pending.Remove(job->id);
  if (!waited && waits) tx.to_queue.push_back(job->id);
  if (waited && waits && changes::OtherToQueue(*before, *job) && live.pending.Contains(job->id))
    live.pending.Add(job, clock.WallNow());
  live.jobs[job->id] = job;
  SetAlarm(*job);
  OfferSecondPass(job);
  stand_ins->Sync(job);
  fair.Move(*live.config, *before, *job, clock.WallNow());
}

// Only a job that has ended leaves: it waits for nothing and holds nothing.
void Engine::Impl::Leave(const JobPtr& job) {
  const JobId id = job->id;
  live.planned.Move(job.get(), nullptr);
  lazy.erase(id);
  pending_news.Forget(id);
  eviction_pace.Forget(id);
  live.jobs.erase(id);
}

// Who holds quota, as a search for victims sees it.
void Engine::Impl::TrackHolder(const JobRecord& before, const JobPtr& after, bool holds) {
  const core::HolderPtr* known = live.holders.Find(after->id);
  TrackMachines(before, after, holds);
  // Nobody waits for a victim on a member that does not answer.
  if (!holds || IsOnLostMember(*after)) return live.holders.Erase(after->id);
  const bool same = known != nullptr && before.conditions == after->conditions &&
                    before.reason == after->reason && before.admission == after->admission &&
                    before.admission_state == after->admission_state &&
                    before.priority == after->priority &&
                    before.priority_boost == after->priority_boost;
  if (same) return;
  live.holders.Put(HolderOf(live.planned.usage().tree(), *options.settings, after));
}

}  // namespace muster
