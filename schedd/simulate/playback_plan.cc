// Playback: decisions, and what becomes of each part of a plan (schedd/core/README.md).
#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/lifecycle/admissions.h"
#include "schedd/lifecycle/evictions.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "schedd/simulate/playback.h"

namespace muster::simulate {

bool Playback::MayDecide() {
  fair_.TellOrder(*scenario_.config, &pending_);
  const WallTime due = second_passes_.NextDue();
  return pending_.HasActive() || (due.set() && due <= now_);
}

core::Snapshot Playback::MakeSnapshot() {
  core::Snapshot snapshot;
  amounts_.Fill(&snapshot);
  snapshot.second_pass = second_passes_.TakeDue(now_);
  snapshot.local_usages = fair_.Usages(*scenario_.config);
  snapshot.now = now_;
  snapshot.cycle = decided_cycles_;
  return snapshot;
}

void Playback::DecideOnce() {
  const std::size_t queues = std::max<std::size_t>(scenario_.config->cluster_queues.size(), 1);
  const std::size_t per_queue = std::max<std::size_t>(options_.budget.heads / queues, 1);
  core::Snapshot snapshot = MakeSnapshot();
  core::CycleInput input;
  input.now = Monotonic{now_.us};
  input.seed = options_.seed;
  input.budget = options_.budget;
  input.cache = &cache_;
  if (options_.timer != nullptr) options_.timer->Begin();
  snapshot.heads = pending_.Heads(per_queue, std::max(options_.budget.heads, queues * per_queue));
  const core::Plan plan = core::Decide(snapshot, input);
  pending_.Settle(plan, now_);
  if (options_.timer != nullptr) options_.timer->End();
  decided_cycles_ += static_cast<std::int64_t>(plan.rounds);
  ++outcome_.cycles;
  outcome_.rounds += plan.rounds;
  outcome_.heads += plan.heads_evaluated;
  CarryOut(plan);
}

void Playback::CarryOut(const core::Plan& plan) {
  for (const core::PlannedAdmission& admit : plan.admits) Admit(admit);
  for (const core::Eviction& eviction : plan.evictions) Evict(eviction);
  for (const core::UnadmittedWorkload& waiting : plan.not_admitted) NoteWaiting(waiting);
}

void Playback::Admit(const core::PlannedAdmission& admit) {
  Actor* actor = Find(admit.job->id);
  const JobPtr before = actor->job;
  if (admit.second_pass) {
    second_passes_.Erase(before->id);
    Start(actor, changes::Completed(*before, admit));
    return;
  }
  if (admit.replaced != nullptr) {
    Finish(Find(admit.replaced->id), JobEvent::kSucceed, Reason::kWorkloadSliceReplaced,
           DecisionKind::kFinished);
  }
  const ClusterQueue& queue = scenario_.config->cluster_queues.at(admit.admission->cluster_queue);
  changes::Draft draft = changes::Reserved(*before, admit, queue, *scenario_.settings, now_);
  PassChecks(draft.get());
  Start(actor, std::move(draft));
}

// Whoever answers them would say yes.
void Playback::PassChecks(JobRecord* job) const {
  if (StateOf(*job).checks.empty()) return;
  ChangeState(job, [](AdmissionState* state) {
    for (AdmissionCheckStatus& check : state->checks) check.state = CheckState::kReady;
  });
}

// It holds quota; it runs, all its pods at once, unless something of its placement is open.
void Playback::Start(Actor* actor, changes::Draft draft) {
  const JobPtr before = actor->job;
  const bool starts = changes::GoOn(draft.get(), *scenario_.settings, now_);
  if (starts) draft = changes::Started(*draft, Observation{}, now_);
  actor->job = std::move(draft);
  amounts_.Put(actor->job);
  if (NeedsSecondPass(*actor->job)) second_passes_.Offer(actor->job, now_);
  fair_.Move(*scenario_.config, *before, *actor->job, now_);
  if (!IsDispatched(actor->job->state)) {
    Tell(DecisionKind::kReserved, actor->job, nullptr, actor->job->admission, "");
    return;
  }
  if (!starts) return;
  actor->done_at = {SaturatingAdd(now_.us, actor->run_us)};
  events_.push({EndOf(*actor), EventKind::kEnd, actor->job->id, actor->job->attempt});
  ++outcome_.admissions;
  Tell(DecisionKind::kAdmitted, actor->job, nullptr, actor->job->admission, "");
}

void Playback::Evict(const core::Eviction& eviction) {
  Actor* actor = Find(eviction.victim->id);
  if (!HoldsQuota(actor->job->state) || IsTrue(*actor->job, "Evicted")) return;
  std::string uid;
  if (eviction.preemptor != nullptr) uid = eviction.preemptor->uid.ToString();
  if (eviction.reason == Reason::kPreempted) ++outcome_.preemptions;
  Stop(actor, changes::Evicted(*actor->job, eviction, uid, uid, now_), eviction.preemptor);
}

void Playback::Stop(Actor* actor, changes::Draft marked, const JobPtr& by) {
  actor->job = std::move(marked);
  ++outcome_.evictions;
  amounts_.Put(actor->job);
  const bool active = StateOf(*actor->job).active;
  Tell(active ? DecisionKind::kEvicted : DecisionKind::kDeactivated, actor->job, by,
       actor->job->admission, actor->job->message);
  events_.push({{SaturatingAdd(now_.us, options_.stop_us)}, EventKind::kGone, actor->job->id, 0});
}

void Playback::Deactivate(Actor* actor) {
  const std::string cause(ReasonName(Reason::kMaximumExecutionTimeExceeded));
  Stop(actor, changes::Deactivated(*actor->job, cause, now_), nullptr);
}

void Playback::NoteWaiting(const core::UnadmittedWorkload& waiting) {
  Actor* actor = Find(waiting.job->id);
  if (waiting.second_pass) {
    ++failed_passes_;
    if (NeedsSecondPass(*actor->job)) second_passes_.Offer(actor->job, now_);
    return;
  }
  if (waiting.reason == Reason::kWaitingForCapacity)
    waits_for_room_.insert(actor->job->cluster_queue);
  changes::Draft draft = changes::Waiting(*actor->job, waiting, *scenario_.settings, now_);
  if (draft != nullptr) actor->job = std::move(draft);
}

}  // namespace muster::simulate
