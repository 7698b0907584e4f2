// WaitingJobs: the ClusterQueues' orders of jobs that may be tried, the verdicts about classes of
// equal jobs, and the queues that a change may have helped.
//
// A job that was tried in vain is parked in its queue until the queue is woken: quota came free in
// its cohort tree, room came free on a member, or the configuration changed. On the engine thread
// only.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "schedd/core/plan/plan.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/engine/context/engine_context.h"
#include "schedd/engine/context/queue_names.h"
#include "schedd/engine/live/live_config.h"

namespace muster {

/// Why a class or group of equal jobs waits, as a cycle found for one of them. `swept`: when the
/// others were told last.
struct Verdict {
  Reason reason = Reason::kNone;
  std::string message;
  Monotonic swept;
};

class WaitingJobs {
 public:
  /// Both must outlive it.
  WaitingJobs(EngineContext& context, const LiveConfig& config)
      : context_(context), config_(config) {}

  /// Forgets all jobs and sets the live configuration, for a recovery.
  void Reset(const core::QuotaTreePtr& tree);

  // --- the orders
  core::PendingQueues& queues() { return queues_; }
  const core::PendingQueues& queues() const { return queues_; }
  /// Queues a job, or replaces the record of a queued one.
  void Add(const JobPtr& job);
  bool Remove(JobId id) { return queues_.Remove(id); }
  bool Contains(JobId id) const { return queues_.Contains(id); }
  /// Queues the job anew, because it is equal to other jobs than before.
  void Requeue(const JobPtr& job);

  // --- verdicts
  /// The verdict that holds for the job; null if there is none.
  const Verdict* VerdictOf(const JobRecord& job) const;
  /// Takes the result of a cycle for one job as a verdict about its equals, if the reason holds for
  /// them too. True if the equals should be told: the verdict is new, its reason differs, or they
  /// were told long ago.
  bool NoteVerdict(const JobRecord& job, const core::UnadmittedWorkload& waiting);
  bool HasVerdicts() const { return !verdicts_.empty(); }
  /// A queued job that a verdict holds for, and that still says that it was not looked at: it was
  /// held, or waited for something else, when its equals were told. nullopt: there is none.
  std::optional<JobId> TakeUntold();

  // --- wakes
  /// All waiting jobs of all queues are tried again.
  void FlushAll();
  /// The waiting jobs of these queues are tried again.
  void Wake(const QueueNames& names);
  /// A job of this ClusterQueue has quota in reach but no member has room for it.
  void NoteWaitsForRoom(const std::string& cluster_queue) { waits_for_room_.insert(cluster_queue); }
  const QueueNames& waits_for_room() const { return waits_for_room_; }
  /// A job gave quota of this ClusterQueue back; FlushReleased wakes.
  void NoteReleased(const std::string& cluster_queue) { released_.insert(cluster_queue); }
  /// Wakes what the quota that came free since the last call may help: all queues under the same
  /// root cohorts, and the queues of any tree whose jobs wait for room on a member.
  void FlushReleased(const core::QuotaTree& tree);

 private:
  std::string GroupKey(const JobRecord& job) const;
  std::string ClassKey(const JobRecord& job) const;

  EngineContext& context_;
  const LiveConfig& config_;
  core::PendingQueues queues_;
  std::unordered_map<std::string, Verdict> verdicts_;  // by group or class; looked up only
  QueueNames released_;
  QueueNames waits_for_room_;
  std::set<JobId> untold_;
};

}  // namespace muster
