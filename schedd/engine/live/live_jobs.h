// LiveJobs: the records of the jobs in memory as they have been decided, which may not be durable
// yet, and everything that follows from them alone: what they hold of the quotas, who a search for
// victims finds, what placements count, what LocalQueues have used, which reasons are news.
//
// A job enters, changes and leaves here and nowhere else, so that no follower is forgotten:
// followers of other rooms are added by AddFollower. On the engine thread only.
#pragma once

#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "schedd/core/quota/holders.h"
#include "schedd/engine/commit/commit_pipeline.h"
#include "schedd/engine/live/fair_use.h"
#include "schedd/engine/live/job_follower.h"
#include "schedd/engine/live/known_members.h"
#include "schedd/engine/live/live_config.h"
#include "schedd/engine/live/pending_news.h"
#include "schedd/engine/live/placed_jobs.h"
#include "schedd/engine/live/waiting_jobs.h"
#include "schedd/lifecycle/job_changes.h"

namespace muster {

class LiveJobs {
 public:
  using Jobs = std::unordered_map<JobId, JobPtr>;
  using SoftChange = std::function<changes::Draft(const JobRecord&)>;

  /// All must outlive it.
  LiveJobs(EngineContext& context, CommitPipeline& commits, const LiveConfig& config,
           const KnownMembers& members, WaitingJobs& waiting);
  /// Must outlive it too.
  void AddFollower(JobFollower* follower) { followers_.push_back(follower); }
  /// As if no job were known, under the live configuration.
  void Reset(const core::QuotaTreePtr& tree, const std::vector<FairUseRow>& fair_use);

  /// Looked up; never iterated where order matters.
  const Jobs& all() const { return jobs_; }
  /// Null if it is not in memory.
  JobPtr Find(JobId id) const;

  // --- changes
  void Enter(const JobPtr& job);
  /// `after` takes the place of `before`, as an event of this name, and is written.
  JobPtr Put(const JobPtr& before, changes::Draft after, const char* event);
  /// Reasons and counts describe the world rather than change it, so the view shows them before
  /// they are written, and they are written only if `persist`. `change` may give null: nothing
  /// changed.
  void PutSoft(const JobPtr& before, const SoftChange& change, bool persist);
  void Leave(const JobPtr& job);
  /// Its row is written when there is time.
  void MarkLazy(JobId id) { lazy_.insert(id); }
  /// Adds rows of such jobs to the open transaction, if there is company for them or nothing else
  /// is being written.
  void AddLazyRows();

  // --- what follows from the records
  /// Amounts as the rows will be once everything decided is committed: what decisions count on. No
  /// commit of an epoch is durable without those before it (store.h), so none is above a quota.
  const Ledger& planned() const { return planned_; }
  const core::QuotaTree& tree() const { return planned_.usage().tree(); }
  /// Who `planned` is made of, without those on lost members.
  const core::Holders& holders() const { return holders_; }
  /// The member does not answer: nobody waits for a victim there.
  void EraseHolder(JobId id);
  /// The member answers again.
  void ReturnHolders(const std::string& cluster);
  /// Counts everything anew under another tree of quotas; touched pairs are written.
  void Recount(const core::QuotaTreePtr& tree);
  PlacedJobs& placed() { return placed_; }
  FairUseTracker& fair() { return fair_; }
  /// Admission fair sharing ages every history, if it is time; false if not.
  bool FireFairSample();
  /// Far away without admission fair sharing.
  Monotonic NextFairSample() const;
  void ConfigureFairUse();
  /// The members of the live configuration with the room that decisions count on.
  std::vector<core::ClusterView> Clusters();
  /// Where a member tells of its machines, what is on its way to them is told too.
  void AddStarting(std::vector<core::ClusterView>* clusters);
  /// When the transaction is durable, the queues of this one's tree are woken.
  void WakeTreeAfterCommit(const std::string& cluster_queue);

 private:
  void Change(const JobPtr& before, const JobPtr& job);
  void TrackHolder(const JobRecord& before, const JobPtr& after, bool holds);
  void TouchCharges(const JobRecord& before, const JobRecord& after);
  bool ChargesOther(const JobRecord& before, const JobRecord& after) const;
  void PutFairUse();

  EngineContext& context_;
  CommitPipeline& commits_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  WaitingJobs& waiting_;
  std::vector<JobFollower*> followers_;
  Jobs jobs_;
  Ledger planned_;
  core::Holders holders_;
  PlacedJobs placed_;
  FairUseTracker fair_;
  Monotonic next_fair_sample_;
  std::set<JobId> lazy_;  // changed in reason or counts only
  PendingNews pending_news_;
};

}  // namespace muster
