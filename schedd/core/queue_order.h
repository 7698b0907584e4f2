// PendingQueues: every pending workload, in the order in which its ClusterQueue would try it.
//
// Order inside one queue (kueue.md 2.2): higher priority, earlier submit time, earlier acceptance.
// Workloads that no rule can tell apart (same queue, priority, namespace, LocalQueue and pod sets)
// form a class; when one of them does not fit, the class is parked until a flush (kueue.md 2.3,
// equivalence hashing), so a cycle costs what changed and not what waits. A StrictFIFO queue does
// not park what lacks quota or room: its head blocks it (Block). Not thread-safe; a plain data
// structure without clock or I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/plan.h"
#include "schedd/model/job.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// The pending workloads of one queue that a cycle may look at, first first.
struct QueueHeads {
  std::string cluster_queue;
  std::vector<JobPtr> jobs;
  bool more = false;  // the queue has further active workloads
};

struct QueueCounts {
  std::size_t active = 0;
  std::size_t inadmissible = 0;
};

class PendingQueues {
 public:
  PendingQueues();
  ~PendingQueues();
  PendingQueues(PendingQueues&&) noexcept;
  PendingQueues& operator=(PendingQueues&&) noexcept;

  /// Adds a workload to its ClusterQueue (job.cluster_queue); a second Add of one id replaces it.
  void Add(JobPtr job);
  /// False if it was not here.
  bool Remove(JobId id);
  bool Contains(JobId id) const;
  /// The current record of a pending workload, null if absent.
  JobPtr Find(JobId id) const;

  /// Up to `per_queue` heads of every queue with active workloads, queues in name order, at most
  /// `total`.
  std::vector<QueueHeads> Heads(std::size_t per_queue, std::size_t total) const;
  /// Parks the class of `id` (no-op for unknown ids): its members wait for a flush.
  void Park(JobId id);
  /// The head of a StrictFIFO queue does not fit: the queue yields no heads while this workload is
  /// its first, unchanged, and no flush comes. No-op for unknown ids and for one that is not the
  /// head.
  void Block(JobId id);
  /// Takes over a whole plan: admitted workloads leave, misfits park (`park`) or block their queue.
  /// After it HasActive() is true only if another Decide can move something.
  void Settle(const Plan& plan);
  /// Calls `visit` for the workload and all that no rule can tell apart from it, in order: what is
  /// said of one of them is true of all.
  void ForEachInClass(JobId id, const std::function<void(const JobPtr&)>& visit) const;
  /// Makes every parked class of these queues active again, and blocked queues try their heads
  /// again.
  void Flush(const std::vector<std::string>& cluster_queues);
  void FlushAll();

  QueueCounts Counts(const std::string& cluster_queue) const;
  std::size_t size() const;
  /// True if Heads() would give anything: O(1).
  bool HasActive() const;
  /// All workloads of a queue in order, active and parked (for listing and explain); at most
  /// `limit`.
  std::vector<JobPtr> Ordered(const std::string& cluster_queue, std::size_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if `a` is tried before `b` in one ClusterQueue.
bool Before(const JobRecord& a, const JobRecord& b);

}  // namespace muster::core
