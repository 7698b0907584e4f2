// Attempts: the life of a job's current attempt: admitted, dispatched, stopped, evicted, ended, run
// again, removed from its member.
//
// Rows of attempts change only by the dispatch state machine (schedd/dispatch/step), and jobs
// follow from its effects. Records change only by the functions of schedd/lifecycle. On the engine
// thread only.
//
// attempts.cc begins and ends attempts, evictions.cc takes quota away, attempt_steps.cc carries the
// steps of the state machine to the job.
#pragma once

#include <string>

#include "schedd/core/plan/plan.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/engine/live/dispatch_rows.h"
#include "schedd/engine/live/live_jobs.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster {

class Attempts : public JobFollower {
 public:
  /// All must outlive it.
  Attempts(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
           WaitingJobs& waiting, LiveJobs& jobs, DispatchRows& rows);

  // --- attempts.cc
  /// Reserves quota as the plan says, and dispatches the job unless its admission checks are open.
  void Admit(const core::PlannedAdmission& admit);
  /// The same for this record, which is the admitted entry's or was made for it.
  void Admit(const JobPtr& before, const core::PlannedAdmission& admit);
  /// Dispatches a reserved job if nothing of its admission is open any more. Called when a check
  /// becomes ready or a placement complete.
  void GoOn(const JobPtr& reserved);
  /// Takes what a second pass decided for a job that holds quota (rule A17).
  void CompletePlacement(const JobPtr& job, const core::PlannedAdmission& admit);
  /// Ends the attempt on its member; the record gives the reason until the attempt is proven gone.
  /// `keep_logs`: the object and its logs stay on the member.
  void Stop(const JobPtr& job, Reason reason, const std::string& message, bool keep_logs);
  /// Sends a signal to all processes of the current attempt once the open transaction is durable.
  /// It may be lost with this daemon.
  void Signal(const JobRecord& job, int signal);
  /// The job ends for good. `seen`: the observation that reported the end; null if it ends without
  /// one.
  JobPtr End(const JobPtr& job, JobEvent how, Reason reason, const std::string& message,
             const Observation* seen);
  /// The second step of an eviction: no pods are left, the quota is given back and the job waits
  /// again.
  void RequeueStopped(const JobPtr& job);
  /// A waiting job may be tried again: the cause that kept it out is over.
  JobPtr Retry(const JobPtr& job, std::string_view reason, const std::string& message);
  /// An ended script waits again, as after a requeue (rule B25).
  JobPtr RunAgain(const JobPtr& job, const std::string& by);
  /// Removes the objects of all its attempts from members; a job that is being deleted goes with
  /// the last one.
  void CleanUp(const JobPtr& job);

  // --- evictions.cc: quota is taken away in two steps (rule A50)
  /// `evicted`: the marked record (schedd/lifecycle/evictions.h). Returns the newest record.
  JobPtr Evict(const JobPtr& job, changes::Draft evicted);
  /// Marks and evicts for this reason.
  JobPtr EvictFor(const JobPtr& job, Reason reason, const EvictionNote& note);
  /// Carries out an eviction of a plan. A victim that is being evicted already is left as it is.
  void Evict(const core::Eviction& eviction);
  /// Takes the job out of its queue, or off its member, until a user activates it again. `cause`:
  /// why Muster does it; "" if a user did.
  void Deactivate(const JobPtr& job, const std::string& cause);

  // --- attempt_steps.cc
  /// One step of the state machine of a row, with everything that follows. `seen`: the observation
  /// in `input`; null for other inputs. kNone if there is no such row.
  dispatch::Effect Step(const DispatchKey& key, const dispatch::StepInput& input,
                        const Observation* seen);
  /// Writes the steps of a batch script that the observation tells of (rule B53), and takes them
  /// out of it; false if the open transaction has no room for all of them.
  bool TakeSteps(Observation* seen);
  /// The policy of the row's ClusterQueue for attempts on a lost member (rule D16).
  OnClusterLost PolicyOf(const DispatchRow& row) const;

  void Enter(const JobPtr&) override {}
  void Change(const JobRecord&, const JobPtr&) override {}
  void Leave(JobId id) override { pace_.Forget(id); }

 private:
  JobPtr InPartitionOf(const JobPtr& job, const JobRecord& entry);
  void Start(const JobPtr& job);
  void FinishDeletion(const JobPtr& job);
  WallTime NextTry(const JobRecord& evicted, WallTime now);
  WallTime AfterRequeueWait(const JobRecord& job, WallTime now);

  void ApplyEffect(const dispatch::StepResult& result, const Observation* seen);
  void NoteUse(const DispatchRow& row, const Observation& seen);
  void Reclaim(JobId id, const Observation& seen);
  void Continue(const JobRecord& job);
  void EndStopped(const JobPtr& job, const std::string& message);
  void EndSucceeded(const JobPtr& job, const Observation& seen);
  void ShowStuck(const JobPtr& job, const dispatch::StepResult& result);
  void LeaveMember(const JobPtr& job, const dispatch::StepResult& result);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  core::EvictionPace pace_;
};

}  // namespace muster
