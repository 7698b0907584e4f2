// Decider: when to decide, on which snapshot, and what a plan does to the live world.
//
// decider.cc runs cycles; waiting_reasons.cc says to the jobs that were not admitted why they wait,
// and notes when time alone may help them; preview.cc plays what an edit would do. On the engine
// thread only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/engine/decide/machines.h"
#include "schedd/engine/jobs/alarms.h"
#include "schedd/engine/jobs/resource_checks.h"
#include "schedd/engine/jobs/stand_in_queue.h"

namespace muster {

class Decider {
 public:
  /// All must outlive it.
  Decider(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
          const KnownMembers& members, WaitingJobs& waiting, LiveJobs& jobs, Attempts& attempts,
          StandInQueue& stand_ins, const Alarms& alarms, const ResourceChecks& checks,
          Machines& machines)
      : context_(context),
        commits_(commits),
        config_(config),
        members_(members),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        stand_ins_(stand_ins),
        alarms_(alarms),
        checks_(checks),
        machines_(machines) {}

  void Reset();
  /// One cycle; false if there is nothing to decide, or not now.
  bool Cycle();
  /// Tells one class of waiting jobs what was found of its head; false if there is none to tell.
  bool Sweep();
  /// Wakes the ClusterQueues where time alone may have found some job a member; false if none.
  bool FireOpenings();
  /// Not set: never.
  WallTime NextOpening() const;
  void Handle(PreviewCommand command);

 private:
  core::Snapshot MakeSnapshot(const ConfigPtr& config, const Ledger& ledger,
                              std::shared_ptr<const core::Holders> holders,
                              std::vector<core::QueueHeads> heads);
  core::Plan Decide(const core::Snapshot& snapshot, Monotonic now);
  void CarryOut(const core::Plan& plan);
  void Complete(const core::PlannedAdmission& admit);

  void NoteWaiting(const core::UnadmittedWorkload& waiting);
  void NoteOpening(const core::UnadmittedWorkload& waiting);
  void ShowClass(const JobPtr& head, const Verdict& verdict);

  Result<EditEffect> Preview(const std::vector<ObjectChange>& changes);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  StandInQueue& stand_ins_;
  const Alarms& alarms_;
  const ResourceChecks& checks_;
  Machines& machines_;
  std::int64_t cycles_ = 0;  // single-head cycles so far
  core::CycleCache cache_;
  bool waits_for_pods_ = false;  // nothing is decided while pods of some job are not ready
  std::deque<JobId> to_sweep_;   // heads of classes that are yet to be told
  /// When time alone may find some job of a ClusterQueue a member: its next cluster group opens, or
  /// a member is no longer avoided.
  std::map<std::string, WallTime> openings_;
};

}  // namespace muster
