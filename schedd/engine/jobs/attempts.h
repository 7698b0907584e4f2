// Attempts: what becomes of a job's current attempt: admitted, started, stopped, evicted, ended,
// run again, removed from its member.
//
// Rows of attempts go through the dispatch state machine (schedd/dispatch/step) and nothing else;
// what a step means for the job follows from its effect alone. Records change by the functions of
// schedd/lifecycle. On the engine thread only.
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
  /// Quota is reserved, and the attempt begins unless admission checks are to be waited for.
  void Admit(const core::PlannedAdmission& admit);
  /// A reserved job whose last admission check is ready is dispatched.
  void GoOn(const JobPtr& reserved);
  /// What was open of the placement of a job that holds quota is decided (rule A17).
  void CompletePlacement(const JobPtr& job, const core::PlannedAdmission& admit);
  /// The attempt is to end on its member; the record says why until it is proven gone.
  void Stop(const JobPtr& job, Reason reason, const std::string& message, bool keep_logs);
  /// The job ends for good. `seen`: what its member said of the end; may be null.
  JobPtr End(const JobPtr& job, JobEvent how, Reason reason, const std::string& message,
             const Observation* seen);
  /// The second step of an eviction: no pods are left, and the job waits again.
  void RequeueStopped(const JobPtr& job);
  /// What kept a waiting job from being tried is over.
  JobPtr Retry(const JobPtr& job, std::string_view reason, const std::string& message);
  /// Removes what is left of all its attempts; a job that is being deleted goes with the last one.
  void CleanUp(const JobPtr& job);

  // --- evictions.cc: quota is taken away in two steps (rule A50)
  /// `evicted`: the marked record (schedd/lifecycle/evictions.h). Returns the record after it.
  JobPtr Evict(const JobPtr& job, changes::Draft evicted);
  JobPtr EvictFor(const JobPtr& job, Reason reason, const EvictionNote& note);
  /// What a plan decided. A victim that is on its way out already is only waited for.
  void Evict(const core::Eviction& eviction);
  /// Takes a job out of the queue, or off its member, until somebody activates it again. `cause` is
  /// why Muster does it; "" if a user did.
  void Deactivate(const JobPtr& job, const std::string& cause);

  // --- attempt_steps.cc
  /// One step of the row's state machine, with all that follows. `seen`: the observation that the
  /// input is made of; null for other inputs. kNone if there is no such row.
  dispatch::Effect Step(const DispatchKey& key, const dispatch::StepInput& input,
                        const Observation* seen);
  /// What the row's ClusterQueue wants of attempts on a member that is lost.
  OnClusterLost PolicyOf(const DispatchRow& row) const;

  void Enter(const JobPtr&) override {}
  void Change(const JobRecord&, const JobPtr&) override {}
  void Leave(JobId id) override { pace_.Forget(id); }

 private:
  void Start(const JobPtr& job);
  void FinishDeletion(const JobPtr& job);
  WallTime NextTry(const JobRecord& evicted, WallTime now);

  void ApplyEffect(const dispatch::StepResult& result, const Observation* seen);
  void Reclaim(JobId id, const Observation& seen);
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
