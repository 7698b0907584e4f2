// Playback, the half about time: events, the clock, and what becomes of jobs when something
// happens. playback_plan.cc has the half about decisions.
//
// Events stand in a queue ordered by time; at the same time ends and releases come before arrivals,
// so that arriving jobs see what is free. Play repeats: if a queue has a workload to try, decide;
// else jump to the next event. The clock moves in Advance alone, so everything between two calls of
// it happens at one instant. What happens at one instant is collected (released_, entering_) and
// told to the queues together, as the engine does after a commit.
//
// An evicted job loses what it had run: its next attempt takes the whole run time again. Its pods
// are gone after options.stop_us; evictions in a row back off as in the daemon. A job that may not
// be requeued (`--no-requeue`) ends.
#include "schedd/simulate/playback.h"

#include <algorithm>
#include <tuple>

#include "schedd/base/check.h"
#include "schedd/base/quantity.h"
#include "schedd/core/queue/queue_entry.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::simulate {
namespace {

WallTime After(WallTime from, std::int64_t us) { return from.Plus(us); }

// The earlier of two times; an unset time means "never".
WallTime Earlier(WallTime a, WallTime b) {
  if (!a.set() || !b.set()) return a.set() ? a : b;
  return std::min(a, b);
}

}  // namespace

bool Playback::Event::operator>(const Event& other) const {
  return std::tie(at, kind, job) > std::tie(other.at, other.kind, other.job);
}

Playback::Playback(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink)
    : scenario_(scenario),
      options_(options),
      sink_(sink),
      now_(options.start),
      amounts_(scenario.config, scenario.settings),
      fair_(scenario.settings) {
  MUSTER_CHECK(options.start.set());
  outcome_.last = options.start;
  pending_.Configure(scenario.config, amounts_.tree(), scenario.settings);
  fair_.Configure(*scenario.config, now_);
  if (fair_.on()) next_sample_ = After(now_, SecondsToMicros(fair_.interval_s()));
  actors_.reserve(scenario.jobs.size());
  for (const SimJob& sim : scenario.jobs) Load(sim);
}

// A job that holds quota at the start goes on running where it is, is on its way out, or gets its
// checks; every other job arrives.
void Playback::Load(const SimJob& sim) {
  const auto [entry, fresh] = actors_.try_emplace(sim.job->id);
  MUSTER_CHECK(fresh);
  Actor& actor = entry->second;
  actor.job = sim.job;
  actor.run_us = sim.run_us;
  if (!HoldsQuota(sim.job->state) || sim.job->admission == nullptr) {
    events_.push({std::max(sim.arrival, now_), EventKind::kArrive, sim.job->id, 0});
    return;
  }
  actor.arrived = true;
  amounts_.Put(sim.job);
  fair_.Adopt(*scenario_.config, *sim.job);
  if (IsTrue(*sim.job, "Evicted")) {
    events_.push({After(now_, options_.stop_us), EventKind::kGone, sim.job->id, 0});
  } else if (sim.job->state == JobState::kReserved) {
    auto draft = std::make_shared<JobRecord>(*sim.job);
    PassChecks(draft.get());
    Start(&actor, std::move(draft));
  } else {
    actor.done_at = After(now_, sim.run_us);
    events_.push({EndOf(actor), EventKind::kEnd, sim.job->id, sim.job->attempt});
  }
}

RunOutcome Playback::Play() {
  HandleDue();
  while (GoesOn()) {
    if (MayDecide()) {
      DecideOnce();
      HandleDue();
    } else if (!Advance()) {
      break;
    }
  }
  Summarize();
  return std::move(outcome_);
}

// False if the run must end, by its limit of cycles or by the caller's wish.
bool Playback::GoesOn() {
  if (options_.max_cycles > 0 && outcome_.cycles >= options_.max_cycles) {
    outcome_.end = RunEnd::kCycles;
    return false;
  }
  if (options_.keep_going && !options_.keep_going()) {
    outcome_.end = RunEnd::kStopped;
    return false;
  }
  return true;
}

WallTime Playback::NextEvent() const {
  return Earlier(events_.empty() ? WallTime{} : events_.top().at, second_passes_.NextDue());
}

// Moves the clock to the next event, second pass or sample of fair sharing. False if nothing is
// left to happen before the end of the run.
bool Playback::Advance() {
  WallTime next = NextEvent();
  if (!next.set()) return false;
  // Only second passes are left, and each of them has failed on the present state.
  if (events_.empty() && failed_passes_ >= second_passes_.size()) return false;
  if (fair_.on() && next_sample_ < next) next = next_sample_;
  if (options_.until && next > *options_.until) {
    outcome_.end = RunEnd::kUntil;
    outcome_.last = now_ = *options_.until;
    return false;
  }
  now_ = std::max(now_, next);
  if (fair_.on() && next_sample_ <= now_) {
    fair_.Sample(*scenario_.config, now_);
    next_sample_ = After(now_, SecondsToMicros(fair_.interval_s()));
  }
  HandleDue();
  return true;
}

// Handles all events up to now, then tells the queues of them.
void Playback::HandleDue() {
  while (!events_.empty() && events_.top().at <= now_) {
    const Event event = events_.top();
    events_.pop();
    Handle(event);
  }
  TellQueues();
}

// An end belongs to one attempt: it is void if the job was evicted or started anew meanwhile.
void Playback::Handle(const Event& event) {
  Actor* actor = Find(event.job);
  switch (event.kind) {
    case EventKind::kEnd:
      if (actor->job->attempt == event.attempt && IsDispatched(actor->job->state) &&
          !IsTrue(*actor->job, "Evicted")) {
        End(actor);
      }
      return;
    case EventKind::kGone:
      Gone(actor);
      return;
    case EventKind::kRequeue: {
      if (actor->job->state != JobState::kPending || IsTrue(*actor->job, "Requeued")) return;
      actor->job = changes::BackoffFinished(*actor->job, now_);
      entering_.push_back(actor->job);
      return;
    }
    case EventKind::kArrive:
      actor->arrived = true;
      Enter(actor->job);
      return;
  }
}

// The job waits in its queue from now on, unless it is held, gated or deactivated. A back-off ends
// with an event of its own.
void Playback::Enter(const JobPtr& job) {
  if (core::EntryGate(*job)) return;
  entering_.push_back(job);
  const auto& requeue_at = StateOf(*job).requeue_at;
  const bool waits = requeue_at && *requeue_at > now_ && !IsTrue(*job, "Requeued");
  if (waits || core::WaitsForBegin(*job))
    events_.push({std::max(*requeue_at, now_), EventKind::kRequeue, job->id, 0});
}

// Tells the queues what was released and which jobs enter, once for all that happened at one
// instant.
void Playback::TellQueues() {
  if (released_.empty() && entering_.empty()) return;
  outcome_.last = now_;
  failed_passes_ = 0;
  if (options_.timer != nullptr) options_.timer->Begin();
  if (!released_.empty()) {
    for (const std::string& queue : released_) pending_.NoteRelease(queue);
    pending_.FlushTrees(released_, now_);
    pending_.Flush({waits_for_room_.begin(), waits_for_room_.end()}, now_);
  }
  for (JobPtr& job : entering_) pending_.Add(std::move(job), now_);
  if (options_.timer != nullptr) options_.timer->End();
  if (!released_.empty()) waits_for_room_.clear();
  released_.clear();
  entering_.clear();
}

// The earliest of the end of its work, its time limit and its maximum execution time; not before
// now.
WallTime Playback::EndOf(const Actor& actor) const {
  WallTime end = actor.done_at;
  const JobRecord& job = *actor.job;
  if (job.time_limit_s > 0) {
    const WallTime started = job.start_time.set() ? job.start_time : options_.start;
    end = std::min(end, After(started, SecondsToMicros(job.time_limit_s)));
  }
  if (const auto deadline = ExecutionDeadline(job)) end = std::min(end, *deadline);
  return std::max(end, now_);
}

// What ends a running job now: its work, its maximum execution time (which deactivates it) or its
// time limit (by which it fails).
void Playback::End(Actor* actor) {
  if (actor->done_at <= now_) {
    Finish(actor, JobEvent::kSucceed, Reason::kSucceeded, DecisionKind::kFinished);
    return;
  }
  const auto deadline = ExecutionDeadline(*actor->job);
  if (deadline && *deadline <= now_) {
    Deactivate(actor);
  } else {
    Finish(actor, JobEvent::kFail, Reason::kDeadlineExceeded, DecisionKind::kTimedOut);
  }
}

void Playback::Finish(Actor* actor, JobEvent how, Reason reason, DecisionKind kind) {
  const JobPtr before = actor->job;
  actor->job = changes::Ended(*before, how, reason, before->message, nullptr, now_);
  ++outcome_.finished;
  Release(*before, *actor->job);
  Tell(kind, actor->job, nullptr, before->admission, "");
}

// It gives its quota back.
void Playback::Release(const JobRecord& before, const JobRecord& after) {
  amounts_.Erase(before.id);
  second_passes_.Erase(before.id);
  fair_.Move(*scenario_.config, before, after, now_);
  released_.push_back(before.admission->cluster_queue);
}

// The second step of an eviction: the pods are gone. The job waits again, or is over for good.
void Playback::Gone(Actor* actor) {
  const JobPtr before = actor->job;
  if (changes::IsCancelling(*before)) {
    Finish(actor, JobEvent::kCancel, Reason::kCancelled, DecisionKind::kFinished);
    return;
  }
  const WallTime not_before = eviction_pace_.Note(before->id, now_);
  actor->job = changes::BackToPending(*before, not_before, *scenario_.settings, now_);
  Release(*before, *actor->job);
  if (!StateOf(*actor->job).active) return;
  Tell(DecisionKind::kRequeued, actor->job, nullptr, before->admission, "");
  Enter(actor->job);
}

// Reports a decision. Each one is a change after which failed second passes may succeed.
void Playback::Tell(DecisionKind kind, const JobPtr& job, JobPtr by, AdmissionPtr held,
                    const std::string& message) {
  outcome_.last = now_;
  failed_passes_ = 0;
  if (sink_) sink_({now_, kind, job, std::move(by), std::move(held), message});
}

Playback::Actor* Playback::Find(JobId id) {
  const auto found = actors_.find(id);
  MUSTER_CHECK(found != actors_.end());
  return &found->second;
}

// The queues try one workload of a class for all that no rule can tell apart, so the reason found
// for one is given to the others of its class. Then the jobs that still hold quota or wait are
// listed by id.
void Playback::Summarize() {
  for (const SimJob& sim : scenario_.jobs) {
    const Actor& actor = *Find(sim.job->id);
    if (!actor.arrived || actor.job->reason == Reason::kNone ||
        actor.job->reason == Reason::kPendingEvaluation) {
      continue;
    }
    pending_.ForEachInClass(sim.job->id, [&](const JobPtr& member) {
      Actor* other = Find(member->id);
      if (other->job->reason != Reason::kNone && other->job->reason != Reason::kPendingEvaluation)
        return;
      auto draft = std::make_shared<JobRecord>(*other->job);
      draft->reason = actor.job->reason;
      draft->message = actor.job->message;
      other->job = std::move(draft);
    });
  }
  for (const auto& [id, actor] : actors_) {
    if (!actor.arrived || IsTerminal(actor.job->state)) continue;
    (HoldsQuota(actor.job->state) ? outcome_.holding : outcome_.waiting).push_back(actor.job);
  }
  for (auto* list : {&outcome_.holding, &outcome_.waiting}) {
    std::sort(list->begin(), list->end(),
              [](const JobPtr& a, const JobPtr& b) { return a->id < b->id; });
  }
}

}  // namespace muster::simulate
