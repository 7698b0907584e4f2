// PendingQueues: every workload that waits for quota, in the order in which its ClusterQueue tries
// it, and Kueue's state machine of queues (rules A12 to A16).
//
// Order inside one queue: lower usage of the LocalQueue (only usage-based queues); the sticky
// preemptor (only BestEffortFIFO); higher tier of the LocalQueue as a partition (Muster's own, rule
// B29); higher effective priority; earlier queue timestamp; earlier acceptance. When one of several
// equal workloads does not fit, all of them are parked until a flush, so a cycle costs what changed
// and not what waits.
//
// Kueue tries a head that it requeues at once again and again. Here such a head *blocks* its queue
// while another try could not end otherwise, and HasActive() is true only while another cycle can
// change something. Not thread-safe; no clock or I/O: the caller passes `now`, and an unset `now`
// is before the end of every back-off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedd/core/plan/plan.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/config.h"

namespace muster::core {

/// The first pending workloads of one queue, as a cycle sees them, in order.
struct QueueHeads {
  std::string cluster_queue;
  std::vector<JobPtr> jobs;
  bool more = false;            // the queue has further active workloads
  JobId preemptor;              // the workload that waits for its victims to be gone; 0: none
  std::int64_t generation = 0;  // grows when the queue may allocate more (NoteRelease, Configure)
  /// Only variants: workloads that have quota for this admission and wait for room on a member.
  std::vector<std::pair<JobPtr, AdmissionPtr>> short_of_room;
  std::map<JobId, LastAssignmentPtr> last;  // of those in `jobs` whose flavor search is to resume
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

  /// Sets the configuration; to be called before the first Add and after every change. It wakes
  /// nothing: a flush does. With other settings than before, all workloads are sorted anew; with
  /// other placements, those that another placement may govern now.
  void Configure(ConfigPtr config, QuotaTreePtr tree, AdmissionSettingsPtr settings);
  /// Sets a configuration that differs in placements alone, and moves nothing: the caller removes
  /// and adds the workloads that another placement governs now.
  void TakePlacements(ConfigPtr config);

  /// A new or changed workload of its ClusterQueue (job.cluster_queue). A new one joins its equals,
  /// active or parked, or is set aside for its back-off. A parked one stays parked unless the
  /// change may help it; of an inflight one only the record is replaced.
  void Add(JobPtr job, WallTime now);
  /// False if it was not here.
  bool Remove(JobId id);
  bool Contains(JobId id) const;
  /// The current record of a pending workload, null if absent.
  JobPtr Find(JobId id) const;

  /// Up to `per_queue` heads of every queue with active workloads, queues in name order, at most
  /// `total` heads. A usage-based queue gives one, because its admission changes the order of the
  /// others.
  std::vector<QueueHeads> Heads(std::size_t per_queue, std::size_t total) const;
  /// Takes the head of a queue out to be decided: it is inflight until Requeue or Remove. Null if
  /// the queue has no active workload or has one inflight.
  JobPtr Pop(const std::string& cluster_queue);
  /// Puts back a workload that Pop took, or one that is in no queue; `job` is its newest record.
  /// False if it is active or parked already. `last` may be null.
  bool Requeue(JobPtr job, RequeueReason reason, LastAssignmentPtr last, WallTime now);
  /// Applies a plan: admitted workloads leave; the others are requeued for the reasons in the plan,
  /// and block their queue if the plan says so.
  void Settle(const Plan& plan, WallTime now);
  /// Calls `visit` for the workload and all of its class, in order: a verdict about one is true of
  /// all.
  void ForEachInClass(JobId id, const std::function<void(const JobPtr&)>& visit) const;

  /// Something that may help changed in these queues: parked workloads whose back-off is over
  /// become active again, and blocked queues try their heads again. Returns how many became active.
  std::size_t Flush(const std::vector<std::string>& cluster_queues, WallTime now);
  std::size_t FlushAll(WallTime now);
  /// Flush of all queues of the cohort trees that these queues are in (rule A16). Trees with a
  /// cycle of cohorts are left alone.
  std::size_t FlushTrees(const std::vector<std::string>& cluster_queues, WallTime now);
  /// Quota of this queue came free: flavor searches that began before may start over (rule A20).
  void NoteRelease(const std::string& cluster_queue);
  /// Sets the usage by which usage-based queues order the workloads of this LocalQueue (rule A42).
  void SetUsage(const std::string& ns, const std::string& local_queue, double usage);

  QueueCounts Counts(const std::string& cluster_queue) const;
  std::size_t size() const;
  /// True if Heads() would return any. O(1).
  bool HasActive() const;
  /// True if the workload is in a queue and may be tried; false if it is parked or inflight.
  bool IsActive(JobId id) const;
  /// All workloads of a queue in order, active or not, for listing and explain; at most `limit`.
  std::vector<JobPtr> Ordered(const std::string& cluster_queue, std::size_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tier of the job's partition, which is its LocalQueue (rule B29); 1 unless it says another.
std::int32_t TierOf(const ConfigView& config, const JobRecord& job);
/// True if `a` is tried before `b` in one ClusterQueue, if neither is the sticky preemptor and
/// their partitions are of one tier.
bool Before(const JobRecord& a, const JobRecord& b, const AdmissionSettings& settings);
/// The same in any partitions.
bool Before(const JobRecord& a, const JobRecord& b, const ConfigView& config,
            const AdmissionSettings& settings);

}  // namespace muster::core
