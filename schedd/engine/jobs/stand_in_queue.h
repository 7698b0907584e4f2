// StandInQueue: keeps the stand-ins of all jobs (slices of elastic jobs, variants of jobs that try
// each flavor) in step with their jobs' records, and carries out what is decided of them. On the
// engine thread only.
//
// stand_in_queue.cc queues them, elastic.cc is about slices, variants.cc about variants.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/engine/live/dispatch_rows.h"
#include "schedd/engine/live/live_jobs.h"

namespace muster {

class StandInQueue : public JobFollower {
 public:
  /// All must outlive it.
  StandInQueue(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
               WaitingJobs& waiting, LiveJobs& jobs, DispatchRows& rows)
      : context_(context),
        commits_(commits),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        rows_(rows) {}

  void Reset();
  /// A configuration may have given a queue other flavors.
  void Resync();
  /// The entries of each job; also in the queues.
  const std::map<JobId, std::vector<JobPtr>>& by_job() const { return by_job_; }
  /// What was found of a stand-in is shown with its job.
  void Note(const core::UnadmittedWorkload& waiting);

  // --- elastic.cc
  void Handle(ReplaceJobCommand command);
  void AdmitSlice(const core::PlannedAdmission& admit);
  /// Tells the member the new size of the job's attempt once it is durable.
  void ResizeWhenDurable(const JobRecord& job);
  /// The answer to an order for an attempt that was there already.
  void NoteResized(const EnsuredCommand& answer);

  // --- variants.cc
  /// Opens the gates whose time has come; false if there were none.
  bool FireGates();
  WallTime NextGate() const {
    return gate_times_.empty() ? WallTime{} : gate_times_.begin()->first;
  }

  /// Of a job that is durable as it is: accepted, or read by recovery.
  void Enter(const JobPtr& job) override;
  /// The queue hears of new entries when they are durable, and of those that go at once.
  void Change(const JobRecord&, const JobPtr& job) override { Sync(job); }

 private:
  // What was found of the variants of one job (KEP-8691), by slot, and whose gates are open.
  struct VariantNotes {
    bool holds = false;  // the job held quota then
    std::map<std::size_t, std::pair<Reason, std::string>> found;
    std::set<std::size_t> blocked, open;  // they would have to preempt; they may
    WallTime next;                        // when the next gate may be opened
  };

  void Sync(const JobPtr& job);
  void QueueWhenDurable(JobId stand_in);

  Result<JobPtr> Replace(const ReplaceJobCommand& command);
  Status Resize(JobRecord* job, const ReplaceJobCommand& command);
  Status CheckGrowth(const JobRecord& job) const;
  void NoteSlice(const JobPtr& job, const core::UnadmittedWorkload& waiting);
  void SendResize(JobId id);

  std::set<std::size_t> OpenGates(const JobRecord& job);
  void NoteVariant(const JobPtr& job, const core::UnadmittedWorkload& waiting);
  void OpenNextGate(const JobPtr& job);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  std::map<JobId, std::vector<JobPtr>> by_job_;
  std::map<JobId, VariantNotes> variant_notes_;      // by the job
  std::set<std::pair<WallTime, JobId>> gate_times_;  // when a further variant may preempt
};

}  // namespace muster
