// Changing records and writing rows: the only places that stamp versions and touch the transaction.
#include <algorithm>
#include <cctype>

#include "schedd/engine/impl.h"
#include "schedd/engine/remote_objects.h"
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
  const bool held = before->admission != nullptr && HoldsQuota(before->state);
  const bool holds = job->admission != nullptr && HoldsQuota(job->state);
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
  Change(before, job);
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
