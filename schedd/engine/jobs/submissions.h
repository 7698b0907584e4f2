// Submissions: everything that arrives together becomes one Store::Accept, and a job enters memory
// and its queue when it is durable. On the engine thread only.
#pragma once

#include <deque>
#include <vector>

#include "schedd/engine/jobs/batch_intake.h"
#include "schedd/engine/jobs/job_ids.h"
#include "schedd/engine/jobs/partitions.h"
#include "schedd/engine/jobs/resource_checks.h"
#include "schedd/engine/live/tenant_counts.h"

namespace muster {

class Submissions {
 public:
  /// All must outlive it.
  Submissions(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
              WaitingJobs& waiting, LiveJobs& jobs, ResourceChecks& checks, TenantCounts& tenants,
              Dependencies& dependencies, Partitions& partitions, JobIds& ids)
      : context_(context),
        commits_(commits),
        config_(config),
        waiting_(waiting),
        jobs_(jobs),
        checks_(checks),
        tenants_(tenants),
        dependencies_(dependencies),
        partitions_(partitions),
        ids_(ids) {}

  /// Adds the jobs to the batch being gathered, or answers with kResourceExhausted.
  void Handle(SubmitCommand command);
  /// Sends the gathered batch to the store; called in every step, before the commit.
  void Send();
  /// Takes the store's answer to the oldest batch on its way.
  void Complete(AcceptDone done);
  /// Answers the clients of the batch that was gathered and not sent.
  void FailWaiting(const Error& error);

 private:
  /// The submissions of one Store::Accept with the clients to answer. `jobs` goes to the store; the
  /// rest stays here.
  struct Batch {
    struct Group {
      Callback<std::vector<Result<SubmittedJob>>> done;
      Actor actor;
      std::size_t first = 0, count = 0;
      // The last jobs of the command, for which there was no room, and why.
      std::size_t refused = 0;
      Error refusal = {};
    };
    std::vector<NewJob> jobs;
    std::vector<AuditRow> audit;  // a row for each group
    std::vector<JobPtr> records;
    std::vector<Group> groups;
    // The configuration that resolved the ClusterQueues of the jobs.
    std::int64_t config_version = 0;
    // Some drafts were made by an older configuration.
    bool built_on_older = false;
    Monotonic sent{};
  };

  TenantCounts::Fit RoomFor(const SubmitCommand& command) const;
  /// Says in the audit trail what became of jobs that the group's first row could not know of. The
  /// errors among the outcomes are marked as noted.
  void AuditOutcomes(const Batch::Group& group, const Batch& batch,
                     std::vector<Result<AcceptedJob>>* outcomes);
  Result<SubmittedJob> Adopt(const JobPtr& record, const Result<AcceptedJob>& outcome,
                             bool stale_config);

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  WaitingJobs& waiting_;
  LiveJobs& jobs_;
  ResourceChecks& checks_;
  TenantCounts& tenants_;
  Dependencies& dependencies_;
  Partitions& partitions_;
  JobIds& ids_;
  Batch gathering_;
  std::deque<Batch> sent_;
};

}  // namespace muster
