// Playback: the state of one Run: what is waiting, what runs, what happens next, and what becomes
// of each part of a plan. Only for the files of simulator.h.
#pragma once

#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/core/queue/second_pass.h"
#include "schedd/model/lifecycle.h"
#include "schedd/simulate/amounts.h"
#include "schedd/simulate/fair_usage.h"
#include "schedd/simulate/simulator.h"

namespace muster::simulate {

class Playback {
 public:
  Playback(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink);
  RunOutcome Play();

 private:
  // At the same instant in this order: what ends makes room for what comes.
  enum class EventKind : std::uint8_t { kEnd, kGone, kRequeue, kArrive };
  struct Event {
    WallTime at;
    EventKind kind = EventKind::kArrive;
    JobId job;
    std::int32_t attempt = 0;  // an end of an earlier attempt is void
    bool operator>(const Event& other) const;
  };
  struct Actor {
    JobPtr job;
    std::int64_t run_us = 0;
    WallTime done_at;  // of its work, while it runs
    bool arrived = false;
  };

  // playback.cc: time.
  void Load(const SimJob& sim);
  bool GoesOn();
  bool Advance();
  void HandleDue();
  void Handle(const Event& event);
  void Arrive(Actor* actor);
  void End(Actor* actor);
  void Gone(Actor* actor);
  void TellQueues();
  WallTime NextEvent() const;
  WallTime EndOf(const Actor& actor) const;
  void Summarize();

  // playback_plan.cc: decisions.
  bool MayDecide() const;
  void DecideOnce();
  core::Snapshot MakeSnapshot();
  void CarryOut(const core::Plan& plan);
  void Admit(const core::Admit& admit);
  void Start(Actor* actor, std::shared_ptr<JobRecord> draft);
  void PassChecks(JobRecord* job) const;
  void Evict(const core::Eviction& eviction);
  void Stop(Actor* actor, std::shared_ptr<JobRecord> marked, const JobPtr& by);
  void Deactivate(Actor* actor);
  void NoteWaiting(const core::NotAdmitted& waiting);

  void Finish(Actor* actor, JobEvent how, Reason reason, DecisionKind kind);
  void Release(const JobRecord& job);
  void Enter(const JobPtr& job);
  void Tell(DecisionKind kind, const JobPtr& job, JobPtr by, AdmissionPtr held,
            const std::string& message);
  Actor* Find(JobId id);

  const Scenario& scenario_;
  const RunOptions& options_;
  const DecisionSink& sink_;
  WallTime now_;
  std::unordered_map<JobId, Actor> actors_;  // looked up, never iterated where order matters
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  core::PendingQueues pending_;
  core::CycleCache cache_;
  core::SecondPassQueue second_passes_;
  core::EvictionPace eviction_pace_;
  Amounts amounts_;
  FairUsage fair_;
  WallTime next_sample_;
  std::vector<std::string> released_;     // ClusterQueues, since the last flush
  std::set<std::string> waits_for_room_;  // whose heads wait for a member
  std::vector<JobPtr> entering_;          // not told to `pending_` yet
  std::int64_t decided_cycles_ = 0;
  std::size_t failed_passes_ = 0;  // second passes in a row since anything changed
  RunOutcome outcome_;
};

}  // namespace muster::simulate
