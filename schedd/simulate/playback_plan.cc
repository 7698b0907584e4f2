// Playback: decisions, and what becomes of each part of a plan (schedd/core/README.md).
#include <algorithm>

#include "schedd/base/check.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/simulate/playback.h"

namespace muster::simulate {

bool Playback::MayDecide() const {
  const WallTime due = second_passes_.NextDue();
  return pending_.HasActive() || (due.set() && due <= now_);
}

core::Snapshot Playback::MakeSnapshot() {
  core::Snapshot snapshot;
  amounts_.Fill(&snapshot);
  snapshot.second_pass = second_passes_.TakeDue(now_);
  snapshot.local_usages = fair_.Usages();
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
  for (const core::Admit& admit : plan.admits) Admit(admit);
  for (const core::Eviction& eviction : plan.evictions) Evict(eviction);
  for (const core::NotAdmitted& waiting : plan.not_admitted) NoteWaiting(waiting);
}

void Playback::Admit(const core::Admit& admit) {
  Actor* actor = Find(admit.job->id);
  const JobPtr before = actor->job;
  auto draft = std::make_shared<JobRecord>(*before);
  if (admit.second_pass) {
    draft->admission = admit.admission;
    ChangeState(draft.get(), [](AdmissionState* state) { state->unhealthy_nodes.clear(); });
    second_passes_.Erase(before->id);
  } else {
    if (admit.replaced != nullptr) {
      Finish(Find(admit.replaced->id), JobEvent::kSucceed, Reason::kWorkloadSliceReplaced,
             DecisionKind::kFinished);
    }
    const auto reserved = Next(draft->state, JobEvent::kReserve);
    MUSTER_CHECK(reserved.has_value());
    draft->state = *reserved;
    draft->cluster = admit.cluster;
    ReserveQuota(draft.get(), admit.admission, now_);
    fair_.OnReserved(*draft);
    const ClusterQueue& queue = scenario_.config->cluster_queues.at(admit.admission->cluster_queue);
    SyncChecks(draft.get(), RequiredChecks(queue, admit.admission.get()), now_);
    PassChecks(draft.get());
  }
  Start(actor, std::move(draft));
}

// Whoever answers them would say yes.
void Playback::PassChecks(JobRecord* job) const {
  if (StateOf(*job).checks.empty()) return;
  ChangeState(job, [](AdmissionState* state) {
    for (AdmissionCheckStatus& check : state->checks) check.state = CheckState::kReady;
  });
}

// It holds quota; it runs unless something of its placement is open.
void Playback::Start(Actor* actor, std::shared_ptr<JobRecord> draft) {
  const bool runs_already = IsDispatched(draft->state);
  SyncAdmitted(draft.get(), *scenario_.settings, now_);
  const bool admitted = IsTrue(*draft, "Admitted");
  if (admitted && !runs_already) {
    for (const JobEvent event : {JobEvent::kAdmit, JobEvent::kStart}) {
      const auto next = Next(draft->state, event);
      MUSTER_CHECK(next.has_value());
      draft->state = *next;
    }
    draft->attempt += 1;
    draft->admit_time = draft->start_time = now_;
    draft->reason = Reason::kRunning;
    draft->message.clear();
  }
  actor->job = std::move(draft);
  amounts_.Put(actor->job);
  if (NeedsSecondPass(*actor->job)) second_passes_.Offer(actor->job, now_);
  if (!admitted) {
    Tell(DecisionKind::kReserved, actor->job, nullptr, actor->job->admission, "");
    return;
  }
  if (runs_already) return;
  fair_.OnAdmitted(*actor->job, now_);
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
  const std::string message = core::EvictionMessage(eviction, uid, uid);
  auto marked = std::make_shared<JobRecord>(*actor->job);
  if (eviction.reason == Reason::kPreempted) {
    MarkPreempted(marked.get(), eviction.preemption_reason, message, now_);
    ++outcome_.preemptions;
  } else {
    MarkEvicted(marked.get(), {std::string(ReasonName(eviction.reason)), "", message}, now_);
  }
  marked->reason = eviction.reason;
  marked->message = message;
  Stop(actor, std::move(marked), eviction.preemptor);
}

void Playback::Stop(Actor* actor, std::shared_ptr<JobRecord> marked, const JobPtr& by) {
  actor->job = std::move(marked);
  ++outcome_.evictions;
  amounts_.Put(actor->job);
  const bool active = StateOf(*actor->job).active;
  Tell(active ? DecisionKind::kEvicted : DecisionKind::kDeactivated, actor->job, by,
       actor->job->admission, actor->job->message);
  events_.push({{SaturatingAdd(now_.us, options_.stop_us)}, EventKind::kGone, actor->job->id, 0});
}

void Playback::Deactivate(Actor* actor) {
  auto marked = std::make_shared<JobRecord>(*actor->job);
  ChangeState(marked.get(), [](AdmissionState* state) {
    state->active = false;
    state->deactivation_cause = ReasonName(Reason::kMaximumExecutionTimeExceeded);
    state->past_execution_s = 0;
  });
  MarkEvicted(marked.get(), DeactivationEviction(*marked), now_);
  marked->reason = Reason::kDeactivated;
  marked->message = FindCondition(*marked, "Evicted")->message;
  Stop(actor, std::move(marked), nullptr);
}

void Playback::NoteWaiting(const core::NotAdmitted& waiting) {
  Actor* actor = Find(waiting.job->id);
  if (waiting.second_pass) {
    ++failed_passes_;
    if (NeedsSecondPass(*actor->job)) second_passes_.Offer(actor->job, now_);
    return;
  }
  if (waiting.reason == Reason::kWaitingForCapacity)
    waits_for_room_.insert(actor->job->cluster_queue);
  if (actor->job->reason == waiting.reason && actor->job->message == waiting.message) return;
  auto draft = std::make_shared<JobRecord>(*actor->job);
  draft->reason = waiting.reason;
  draft->message = waiting.message;
  actor->job = std::move(draft);
}

}  // namespace muster::simulate
