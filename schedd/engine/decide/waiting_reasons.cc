// The reasons of jobs that a cycle did not admit.
//
// A cycle looks at heads only. Its verdict about a head holds for the head's class or group
// (WaitingJobs::NoteVerdict); Sweep gives the reason to the other jobs, one class a call, in steps
// that have nothing better to do. Stand-ins show their reason with their job, and a job of a second
// pass keeps its state and gets an event.
//
// Where time alone may help (the next cluster group of a placement opens, or a member is no longer
// avoided; rule P16), the time is noted for the ClusterQueue, and FireOpenings wakes the queue
// then.
#include "schedd/base/fault_points.h"
#include "schedd/core/member/placement_ask.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/decide/decider.h"
#include "schedd/engine/jobs/partition_entries.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/admissions.h"

namespace muster {
namespace {

// About 10 ms of work; the rest of the class comes with the next call.
constexpr std::size_t kSweepAtOnce = 10'000;

// The first time at which a member may open to the job without any other change; nullopt: never.
std::optional<WallTime> OpensAt(const core::PlacementAsk& ask, WallTime now) {
  std::optional<WallTime> at;
  const auto offer = [&at](WallTime time) { at = at ? std::min(*at, time) : time; };
  for (const AvoidedCluster& avoided : ask.avoided) offer(avoided.until);
  if (ask.placement == nullptr) return at;
  const std::int64_t next = core::NextGroupAfter(ask.placement->policy, ask.waited_s);
  if (next >= 0) offer(now.PlusSeconds(SaturatingSub(next, ask.waited_s)));
  return at;
}

}  // namespace

// `waiting` is one entry of a plan. The reason is a soft change: shown at once, written with some
// later commit.
void Decider::NoteWaiting(const core::UnadmittedWorkload& waiting) {
  NoteOpening(waiting);
  if (IsStandIn(waiting.job->id) && !array_tasks_.ShowsItsRecord(*waiting.job))
    return NoteStandIn(waiting);
  const JobPtr job = jobs_.Find(OwnerOf(waiting.job->id));
  if (job == nullptr) return;
  if (waiting.second_pass) {
    commits_.AddEvent("SecondPassFailed", job->id, ObjectName(*job),
                      std::string(ReasonName(waiting.reason)), waiting.message);
    machines_.OfferSecondPass(job);
    return;
  }
  const WallTime at = context_.clock.WallNow();
  const auto change = [&](const JobRecord& one) {
    return changes::Waiting(one, waiting, context_.settings(), at);
  };
  jobs_.PutSoft(job, change, true);
  // Room that others make may come free elsewhere first, and so may room for which victims go.
  const bool for_room = waiting.reason == Reason::kWaitingForCapacity ||
                        (waiting.reason == Reason::kWaitingForPreemptedWorkloads &&
                         !MUSTER_PLANTED(room_wakes_no_preemptor));
  if (for_room) waiting_.NoteWaitsForRoom(job->cluster_queue);
  if (waiting_.NoteVerdict(*job, waiting)) to_sweep_.push_back(waiting.job->id);
}

// What keeps an entry in another partition keeps the jobs there that are equal to it, which were
// parked with it.
void Decider::NoteStandIn(const core::UnadmittedWorkload& waiting) {
  const JobRecord& entry = *waiting.job;
  if (NamesPartitions(entry) && waiting_.NoteVerdict(entry, waiting)) to_sweep_.push_back(entry.id);
  if (!array_tasks_.Owns(entry.id)) return stand_ins_.Note(waiting);
  if (waiting.reason == Reason::kWaitingForCapacity) waiting_.NoteWaitsForRoom(entry.cluster_queue);
}

// The verdict may have been forgotten by a wake since; then the class is looked at again anyway.
bool Decider::Sweep() {
  if (to_sweep_.empty()) {
    const std::optional<JobId> untold = waiting_.TakeUntold();
    if (!untold) return false;
    to_sweep_.push_back(*untold);
  }
  const JobId queued = to_sweep_.front();
  const JobPtr head = IsStandIn(queued) ? waiting_.queues().Find(queued) : jobs_.Find(queued);
  to_sweep_.pop_front();
  if (head == nullptr) return true;
  if (const Verdict* verdict = waiting_.VerdictOf(*head); verdict != nullptr)
    ShowClass(queued, *verdict);
  return true;
}

// Jobs that have the reason already are passed over, so a class that did not fit into one call goes
// on where it stopped. Entries of an array show it once, with their record.
void Decider::ShowClass(JobId head, const Verdict& verdict) {
  const Reason reason = verdict.reason;
  const std::string message = verdict.message;
  std::vector<JobPtr> others;
  waiting_.queues().ForEachInClass(head, [&](const JobPtr& equal) {
    if (others.size() >= kSweepAtOnce) return;
    if (IsStandIn(equal->id) && !array_tasks_.ShowsItsRecord(*equal)) return;
    const JobPtr job = jobs_.Find(OwnerOf(equal->id));
    if (!others.empty() && others.back() == job) return;
    if (job != nullptr && (job->reason != reason || job->message != message)) others.push_back(job);
  });
  const auto change = [&](const JobRecord& one) {
    return changes::Waiting(one, reason, message, context_.settings(), context_.clock.WallNow());
  };
  for (const JobPtr& job : others) jobs_.PutSoft(job, change, false);
  if (others.size() == kSweepAtOnce) to_sweep_.push_front(head);
}

// Keeps the earliest time for each queue.
void Decider::NoteOpening(const core::UnadmittedWorkload& waiting) {
  const JobRecord& job = *waiting.job;
  const WallTime now = context_.clock.WallNow();
  const core::PlacementAsk ask = core::AskOf(*config_.view(), context_.settings(), job, now);
  if (ask.empty()) return;
  const std::optional<WallTime> at = OpensAt(ask, now);
  if (!at) return;
  const auto known = openings_.try_emplace(job.cluster_queue, *at).first;
  known->second = std::min(known->second, *at);
}

// One time for each queue is enough: equal jobs wait together, and the one that was looked at has
// waited longest. A woken queue notes the next time when it looks at its jobs.
bool Decider::FireOpenings() {
  QueueNames names;
  const WallTime now = context_.clock.WallNow();
  std::erase_if(openings_, [&](const auto& one) {
    if (one.second > now) return false;
    names.insert(one.first);
    return true;
  });
  waiting_.Wake(names);
  return !names.empty();
}

WallTime Decider::NextOpening() const {
  WallTime next;
  for (const auto& [queue, at] : openings_) next = next.set() ? std::min(next, at) : at;
  return next;
}

}  // namespace muster
