// Changing records and writing rows: the only places that stamp versions and touch the transaction.
#include <algorithm>
#include <cctype>

#include "schedd/engine/impl.h"
#include "schedd/engine/remote_objects.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"
#include "schedd/shapes/config/queue_objects.h"

namespace muster {

std::int64_t Engine::Impl::AddEvent(const char* type, JobId job, std::string object,
                                    std::string reason, std::string message) {
  const std::int64_t seq = ++live.last_seq;
  tx.events.push_back(
      {seq, clock.WallNow(), type, job, std::move(object), std::move(reason), std::move(message)});
  return seq;
}

JobPtr Engine::Impl::Put(const JobPtr& before, changes::Draft after, const char* event) {
  after->resource_version = AddEvent(event, after->id, ObjectName(*after),
                                     std::string(ReasonName(after->reason)), after->message);
  JobPtr job = std::move(after);
  live.planned.Move(before.get(), job.get());
  const bool held = HoldsQuota(before->state) && before->admission != nullptr;
  const bool holds = HoldsQuota(job->state) && job->admission != nullptr;
  if (!held && holds) tx.Touch(*job->admission);
  if (held && !holds) {
    released.insert(before->admission->cluster_queue);
    tx.Touch(*before->admission);
    if (IsDispatched(before->state)) {
      tx.attempts[{before->id, before->attempt}] =
          changes::ClosedAttempt(*before, *job, clock.WallNow());
    }
  }
  if (held && holds && ChargesOther(*before, *job)) {
    released.insert(before->admission->cluster_queue);
    tx.Touch(*before->admission);
  }
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
  PutFairUse();
  tx.jobs[job->id] = job;
  lazy.erase(job->id);
  if (std::string_view(event) != kPendingEvent) pending_news.Forget(job->id);
  return job;
}

bool Engine::Impl::ChargesOther(const JobRecord& before, const JobRecord& after) const {
  if (before.admission == after.admission && before.admission_state == after.admission_state)
    return false;
  return *ChargedAdmission(before, *options.settings) !=
         *ChargedAdmission(after, *options.settings);
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

// Reasons and counts describe the world rather than change it, so the view shows them before they
// are written.
void Engine::Impl::PutSoft(const JobPtr& before,
                           const std::function<changes::Draft(const JobRecord&)>& change,
                           bool persist) {
  JobPtr next = change(*before);
  if (next == nullptr) return;
  const JobPtr shown = committed.jobs.Find(before->id);
  live.jobs[next->id] = next;
  SetAlarm(*next);
  if (persist) lazy.insert(next->id);
  if (const auto row = tx.jobs.find(next->id); row != tx.jobs.end()) row->second = next;
  if (shown == nullptr) return;
  JobPtr show = shown == before ? next : JobPtr(change(*shown));
  if (show == nullptr) return;
  committed.jobs.Put(std::move(show));
  dirty = true;
}

void Engine::Impl::PutRow(const DispatchRow& row) {
  if (row.state == DispatchState::kGone) {
    live.dispatches.erase(row.key);
    const auto name = live.names.find(NameHash(row));
    if (name != live.names.end() && name->second == row.key) live.names.erase(name);
  } else {
    if (live.dispatches.insert_or_assign(row.key, row).second) live.names[NameHash(row)] = row.key;
  }
  tx.dispatches[row.key] = row;
}

void Engine::Impl::PutFairUse() {
  if (!fair.on()) return;
  for (FairUseRow& row : fair.TakeRows()) {
    std::pair key(row.ns, row.local_queue);
    tx.fair_use[std::move(key)] = std::move(row);
  }
}

void Engine::Impl::AddAudit(const Actor& actor, const char* verb, std::string object,
                            std::string detail) {
  tx.audit.push_back(
      {clock.WallNow(), actor.user, actor.method, verb, std::move(object), std::move(detail)});
}

void Engine::Impl::AnswerAfterCommit(Waiter waiter) { tx.waiters.push_back(std::move(waiter)); }

}  // namespace muster
