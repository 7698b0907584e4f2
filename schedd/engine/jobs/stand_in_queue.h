// StandInQueue: keeps the stand-ins of all jobs (slices of elastic jobs, variants of concurrent
// admission) in step with their jobs' records, and carries out what is decided about them. On the
// engine thread only.
//
// stand_in_queue.cc queues them, elastic.cc is about slices, variant_gates.cc about the preemption
// gates of variants.
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

  /// Forgets all stand-ins, for a recovery.
  void Reset();
  /// Compares all stand-ins anew: an edit may have given a queue other flavors.
  void Resync();
  /// The stand-ins of each job that has any; they are also in the queues (WaitingJobs).
  const std::map<JobId, std::vector<JobPtr>>& by_job() const { return by_job_; }
  /// Shows with its job why a stand-in was not admitted.
  void Note(const core::UnadmittedWorkload& waiting);

  // --- elastic.cc
  /// Changes the size of an elastic job, or takes admission gates away.
  void Handle(ReplaceJobCommand command);
  /// A plan admits a waiting slice: it takes the place of the one before.
  void AdmitSlice(const core::PlannedAdmission& admit);
  /// Orders the member to resize the job's object, once the open transaction is durable.
  void ResizeWhenDurable(const JobRecord& job);
  /// Takes the member's answer to an Ensure of an attempt that it had already.
  void NoteResized(const EnsuredCommand& answer);

  // --- variants.cc
  /// Opens the gates that are due; false if none was.
  bool FireGates();
  WallTime NextGate() const {
    return gate_times_.empty() ? WallTime{} : gate_times_.begin()->first;
  }

  /// The job is durable as it is (accepted, or read by recovery).
  void Enter(const JobPtr& job) override;
  /// New entries reach the queue when they are durable; entries that go leave it at once.
  void Change(const JobRecord&, const JobPtr& job) override { Sync(job); }

 private:
  // What cycles found of the variants of one job, by slot, and which gates are open (KEP-8691).
  // `holds`: whether the job held quota then. `blocked`: slots that could be admitted only by
  // preemption. `next`: when the next gate may be opened.
  struct VariantNotes {
    bool holds = false;
    std::map<std::size_t, std::pair<Reason, std::string>> found;
    std::set<std::size_t> blocked, open;
    WallTime next;
  };

  void Sync(const JobPtr& job);
  void QueueWhenDurable(JobId stand_in);
  void NoteSeveral(const JobRecord& job);

  Result<JobPtr> Replace(const ReplaceJobCommand& command);
  Status Resize(JobRecord* job, const ReplaceJobCommand& command);
  Status CheckGrowth(const JobRecord& job) const;
  void NoteSlice(const JobPtr& job, const core::UnadmittedWorkload& waiting);
  void SendResize(JobId id);

  std::set<std::size_t> OpenGates(const JobRecord& job);
  void NoteVariant(const JobPtr& job, const core::UnadmittedWorkload& waiting);
  void NotePartition(const JobPtr& job, const core::UnadmittedWorkload& waiting);
  void OpenNextGate(const JobPtr& job);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  DispatchRows& rows_;
  std::map<JobId, std::vector<JobPtr>> by_job_;
  // Waiting batch scripts of several partitions.
  std::set<JobId> several_;
  std::map<JobId, VariantNotes> variant_notes_;
  // When a job may get its next open gate.
  std::set<std::pair<WallTime, JobId>> gate_times_;
};

}  // namespace muster
