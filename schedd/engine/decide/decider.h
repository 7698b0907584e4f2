// Decider: when a cycle decides, on which snapshot, and how its plan changes the live world.
//
// decider.cc runs cycles; waiting_reasons.cc writes the reasons of jobs that were not admitted, and
// notes when time alone may help them; preview.cc plays what an edit would do. On the engine thread
// only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/engine/decide/machines.h"
#include "schedd/engine/jobs/alarms.h"
#include "schedd/engine/jobs/array_tasks.h"
#include "schedd/engine/jobs/resource_checks.h"
#include "schedd/engine/jobs/stand_in_queue.h"

namespace muster {

class Decider {
 public:
  /// All must outlive it.
  Decider(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
          const KnownMembers& members, WaitingJobs& waiting, LiveJobs& jobs, Attempts& attempts,
          ArrayTasks& array_tasks, StandInQueue& stand_ins, const Alarms& alarms,
          const ResourceChecks& checks, Machines& machines)
      : context_(context),
        commits_(commits),
        config_(config),
        members_(members),
        waiting_(waiting),
        jobs_(jobs),
        attempts_(attempts),
        array_tasks_(array_tasks),
        stand_ins_(stand_ins),
        alarms_(alarms),
        checks_(checks),
        machines_(machines) {}

  /// Forgets what earlier cycles found, for a recovery.
  void Reset();
  /// Runs one cycle; false if there is nothing to decide, or decisions are not allowed now.
  bool Cycle();
  /// Gives one class of waiting jobs the reason that a cycle found for its head; false if no class
  /// is left.
  bool Sweep();
  /// Wakes the ClusterQueues in which time alone may have opened a member to a job; false if there
  /// are none.
  bool FireOpenings();
  /// When FireOpenings has something to do; not set: never.
  WallTime NextOpening() const;
  /// Answers what an edit would admit and preempt; changes nothing.
  void Handle(PreviewCommand command);

 private:
  core::Snapshot MakeSnapshot(const ConfigPtr& config, const Ledger& ledger,
                              std::shared_ptr<const core::Holders> holders,
                              std::vector<core::QueueHeads> heads);
  core::Plan Decide(const core::Snapshot& snapshot, Monotonic now);
  void CarryOut(const core::Plan& plan);
  void Complete(const core::PlannedAdmission& admit);

  void NoteWaiting(const core::UnadmittedWorkload& waiting);
  void NoteStandIn(const core::UnadmittedWorkload& waiting);
  void NoteOpening(const core::UnadmittedWorkload& waiting);
  void ShowClass(JobId head, const Verdict& verdict);

  Result<EditEffect> Preview(const std::vector<ObjectChange>& changes);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  Attempts& attempts_;
  ArrayTasks& array_tasks_;
  StandInQueue& stand_ins_;
  const Alarms& alarms_;
  const ResourceChecks& checks_;
  Machines& machines_;
  // Rounds so far: cycles as Kueue counts them (rule A18).
  std::int64_t cycles_ = 0;
  core::CycleCache cache_;
  // The last plan waits until the pods of all admitted jobs are ready.
  bool waits_for_pods_ = false;
  // Heads of classes, as they are queued, whose other jobs do not have the reason yet.
  std::deque<JobId> to_sweep_;
  /// By ClusterQueue: when time alone may open a member to one of its jobs, because the next
  /// cluster group of a placement opens or a member is no longer avoided.
  std::map<std::string, WallTime> openings_;
};

}  // namespace muster
