// LiveJobs: the records of the jobs in memory as they have been decided (they may not be durable
// yet), and everything that follows from the records alone: amounts of quota, the holders that
// searches for victims see, counts for placements, use by LocalQueues, and which reasons become
// events.
//
// A job enters, changes and leaves here and nowhere else, so that no follower misses a change.
// Owners in other rooms follow by AddFollower. On the engine thread only.
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
  /// Followers are called in the order in which they were added; they must outlive this.
  void AddFollower(JobFollower* follower) { followers_.push_back(follower); }
  /// Forgets all jobs, for a recovery. `tree`: the quotas of the live configuration; `fair_use`:
  /// stored histories.
  void Reset(const core::QuotaTreePtr& tree, const std::vector<FairUseRow>& fair_use);

  /// For lookups. Not in any order: sort before doing anything that a user can see.
  const Jobs& all() const { return jobs_; }
  /// Null if it is not in memory.
  JobPtr Find(JobId id) const;

  // --- changes
  /// A durable job comes into memory: accepted, read by recovery, or read again for a command.
  void Enter(const JobPtr& job);
  /// A job begins with the open transaction, and waits: a task or a part of an array. The caller
  /// has given it its id and, as resource version, its event number.
  void Create(const JobPtr& job);
  /// Replaces the record `before` by `after` under an event of this name, and writes it with the
  /// open transaction. Returns the stamped record.
  JobPtr Put(JobPtr before, changes::Draft after, const char* event);
  /// Changes reason, message or counts: the view shows them before they are written, and they are
  /// written, later, only if `persist`. `change` returns null if it changes nothing.
  void PutSoft(JobPtr before, const SoftChange& change, bool persist);
  /// An ended job leaves memory; the database keeps it.
  void Leave(const JobPtr& job);
  /// What the member has measured of the job's current attempt so far: its line of accounting gets
  /// it (rule B54). Kept in memory only, because the member tells it again.
  void NoteUse(JobId id, const MeasuredUse& use);
  /// Has the job's row written with some later commit.
  void MarkLazy(JobId id) { lazy_.insert(id); }
  /// Adds rows of jobs that PutSoft or MarkLazy marked, if the open transaction leaves anyway or no
  /// commit is on its way. Called before each commit.
  void AddLazyRows();

  // --- what follows from the records
  /// The amounts as they are once everything decided is durable: decisions count on these. No
  /// commit of an epoch becomes durable without those before it (store.h), so no durable state
  /// exceeds a quota.
  const Ledger& planned() const { return planned_; }
  const core::QuotaTree& tree() const { return planned_.usage().tree(); }
  /// The jobs that hold quota, but for those on lost members: candidates for preemption.
  const core::Holders& holders() const { return holders_; }
  /// The job's member is lost: no search may choose it as a victim.
  void EraseHolder(JobId id);
  /// The member answers again: its jobs are candidates again.
  void ReturnHolders(const std::string& cluster);
  /// Counts everything anew under another tree of quotas; the amounts of all holders are written.
  void Recount(const core::QuotaTreePtr& tree);
  PlacedJobs& placed() { return placed_; }
  FairUseTracker& fair() { return fair_; }
  /// Ages every history of admission fair sharing, if the sampling interval is over; false if not.
  bool FireFairSample();
  /// When the next sample is due; the largest time without admission fair sharing.
  Monotonic NextFairSample() const;
  /// The configuration has other queues or weights than before.
  void ConfigureFairUse();
  /// The members of the live configuration with the room that decisions count on.
  std::vector<core::ClusterView> Clusters();
  /// Adds to each member that reports machines the jobs whose pods these reports do not contain
  /// yet.
  void AddStarting(std::vector<core::ClusterView>* clusters);
  /// When the open transaction is durable, all ClusterQueues of the cohort tree of this one are
  /// woken.
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
  // Of attempts that run, by job; jobs without an entry have used nothing that was told.
  std::unordered_map<JobId, MeasuredUse> uses_;
  // Jobs whose row is owed by PutSoft or MarkLazy.
  std::set<JobId> lazy_;
  PendingNews pending_news_;
};

}  // namespace muster
