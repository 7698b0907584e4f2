// WaitingJobs: the ClusterQueues' orders of jobs that may be tried, what was found of classes of
// them, and which of them something may have helped.
//
// A job that was looked at in vain is parked in its queue until the queue is woken: quota came free
// in its tree, room on a member, or the configuration changed. On the engine thread only.
#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "schedd/core/plan/plan.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/engine/context/engine_context.h"
#include "schedd/engine/context/queue_names.h"
#include "schedd/engine/live/live_config.h"

namespace muster {

/// What was found of a class of waiting jobs, for its members that were not looked at themselves.
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

  /// As if no job waited, under this configuration.
  void Reset(const core::QuotaTreePtr& tree);

  // --- the orders
  core::PendingQueues& queues() { return queues_; }
  const core::PendingQueues& queues() const { return queues_; }
  void Add(const JobPtr& job) { queues_.Add(job, context_.clock.WallNow()); }
  bool Remove(JobId id) { return queues_.Remove(id); }
  bool Contains(JobId id) const { return queues_.Contains(id); }
  /// Queues it anew: it is no longer equal to the jobs that it was equal to.
  void Requeue(const JobPtr& job);

  // --- verdicts
  /// What was found of the job's class or group; null: nothing that still holds.
  const Verdict* VerdictOf(const JobRecord& job) const;
  /// Takes what a cycle found of one job as found of its equals, if the reason is true of them too.
  /// True if they are to be told so (a fresh verdict, another reason, or the last time is long
  /// ago).
  bool NoteVerdict(const JobRecord& job, const core::UnadmittedWorkload& waiting);
  bool HasVerdicts() const { return !verdicts_.empty(); }

  // --- wakes
  /// Everything that waits is tried again.
  void FlushAll();
  /// What waits in these queues may be helped by what has changed.
  void Wake(const QueueNames& names);
  /// A job of this ClusterQueue lacks room on a member.
  void NoteWaitsForRoom(const std::string& cluster_queue) { waits_for_room_.insert(cluster_queue); }
  const QueueNames& waits_for_room() const { return waits_for_room_; }
  /// Quota of this ClusterQueue came free.
  void NoteReleased(const std::string& cluster_queue) { released_.insert(cluster_queue); }
  /// Wakes what the quota that came free since the last call may help: everything under the same
  /// root cohorts may now fit, and jobs of any tree may have waited for the room on a member.
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
};

}  // namespace muster
