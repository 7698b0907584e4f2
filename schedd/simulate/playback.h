// Playback: the state of one Run: jobs, events to come, queues, amounts that are held. Private to
// the implementation of simulator.h; playback.cc has the methods about time, playback_plan.cc those
// about decisions.
#pragma once

#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/lifecycle/fair_use_ledger.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/simulate/amounts.h"
#include "schedd/simulate/simulator.h"

namespace muster::simulate {

class Playback {
 public:
  Playback(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink);
  RunOutcome Play();

 private:
  // The order at the same instant: ends and releases make room for arrivals.
  enum class EventKind : std::uint8_t { kEnd, kGone, kRequeue, kArrive };
  struct Event {
    WallTime at;
    EventKind kind = EventKind::kArrive;
    JobId job;
    // An end that was set for an earlier attempt is void.
    std::int32_t attempt = 0;
    bool operator>(const Event& other) const;
  };
  // A job of the scenario as it is now.
  struct Actor {
    JobPtr job;
    std::int64_t run_us = 0;
    // When its work ends, while it runs.
    WallTime done_at;
    bool arrived = false;
  };

  // playback.cc: time.
  void Load(const SimJob& sim);
  bool GoesOn();
  bool Advance();
  void HandleDue();
  void Handle(const Event& event);
  void End(Actor* actor);
  void Gone(Actor* actor);
  void TellQueues();
  WallTime NextEvent() const;
  WallTime EndOf(const Actor& actor) const;
  void Summarize();

  // playback_plan.cc: decisions.
  bool MayDecide();
  void DecideOnce();
  core::Snapshot MakeSnapshot();
  void CarryOut(const core::Plan& plan);
  void Admit(const core::PlannedAdmission& admit);
  void Start(Actor* actor, changes::Draft draft);
  void PassChecks(JobRecord* job) const;
  void Evict(const core::Eviction& eviction);
  void Stop(Actor* actor, changes::Draft marked, const JobPtr& by);
  void Deactivate(Actor* actor);
  void NoteWaiting(const core::UnadmittedWorkload& waiting);

  void Finish(Actor* actor, JobEvent how, Reason reason, DecisionKind kind);
  void Release(const JobRecord& before, const JobRecord& after);
  void Enter(const JobPtr& job);
  void Tell(DecisionKind kind, const JobPtr& job, JobPtr by, AdmissionPtr held,
            const std::string& message);
  Actor* Find(JobId id);

  const Scenario& scenario_;
  const RunOptions& options_;
  const DecisionSink& sink_;
  WallTime now_;
  // Never iterated where the order matters.
  std::unordered_map<JobId, Actor> actors_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  core::PendingQueues pending_;
  core::CycleCache cache_;
  core::SecondPassQueue second_passes_;
  core::EvictionPace eviction_pace_;
  Amounts amounts_;
  FairUseLedger fair_;
  WallTime next_sample_;
  // ClusterQueues in which quota was released since the last TellQueues.
  std::vector<std::string> released_;
  // ClusterQueues whose heads wait for room on a member.
  std::set<std::string> waits_for_room_;
  // Jobs that enter at the next TellQueues.
  std::vector<JobPtr> entering_;
  std::int64_t decided_cycles_ = 0;
  // Second passes that failed in a row since anything changed.
  std::size_t failed_passes_ = 0;
  RunOutcome outcome_;
};

}  // namespace muster::simulate
