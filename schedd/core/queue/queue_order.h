// PendingQueues: every workload that waits for quota, in the order in which its ClusterQueue would
// try it, and the queue state machine of Kueue around it (rules A12 to A16).
//
// Order inside one queue: [usage-based queues: lower usage of the LocalQueue]; the sticky preemptor
// of a BestEffortFIFO queue; higher effective priority; earlier queue timestamp; earlier
// acceptance. What Kueue calls equal scheduling hashes is a group here: when one of it does not fit
// it is parked as a whole until a flush, so a cycle costs what changed and not what waits.
//
// Kueue tries a head that it requeues at once again and again; here such a head *blocks* its queue
// while trying it again could not end otherwise, and HasActive() is true only while another cycle
// can move something. Not thread-safe; a plain data structure without clock or I/O: whatever
// depends on time is told `now`, and an unset `now` is before every back-off's end.
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

/// The pending workloads of one queue that a cycle may look at, first first.
struct QueueHeads {
  std::string cluster_queue;
  std::vector<JobPtr> jobs;
  bool more = false;  // the queue has further active workloads
  JobId preemptor;    // the one that the queue remembers as waiting for its victims; 0: none
  std::int64_t generation = 0;  // grows with what the queue may allocate (NoteRelease, Configure)
  /// Waiting workloads that have quota for this and wait for room on a member (variants only).
  std::vector<std::pair<JobPtr, AdmissionPtr>> short_of_room;
  std::map<JobId, LastAssignmentPtr> last;  // where the flavor search of some of `jobs` ended
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

  /// What the queues are and which rules hold; to be called before the first Add and after every
  /// change of the configuration. Moves nothing: a flush does. With other settings than before, all
  /// workloads are sorted anew; with other placements, those that another one may govern now.
  void Configure(ConfigPtr config, QuotaTreePtr tree, AdmissionSettingsPtr settings);
  /// A configuration that differs in placements alone. Looks for nobody: the caller removes and
  /// adds the workloads that another one governs now.
  void TakePlacements(ConfigPtr config);

  /// A new or changed workload of its ClusterQueue (job.cluster_queue). New ones join their equals,
  /// active or parked, or wait aside in their back-off. Inadmissible ones stay where they are
  /// unless something changed that may help them; inflight ones are only remembered.
  void Add(JobPtr job, WallTime now);
  /// False if it was not here.
  bool Remove(JobId id);
  bool Contains(JobId id) const;
  /// The current record of a pending workload, null if absent.
  JobPtr Find(JobId id) const;

  /// Up to `per_queue` heads of every queue with active workloads, queues in name order, at most
  /// `total`. A usage-based queue shows one: admitting it changes the order of the others.
  std::vector<QueueHeads> Heads(std::size_t per_queue, std::size_t total) const;
  /// Takes the head of a queue out to be decided: it is inflight until Requeue or Remove. Null if
  /// the queue has no active workload or has one inflight.
  JobPtr Pop(const std::string& cluster_queue);
  /// Puts back what Pop took, or a workload that is in no queue; `job` is its newest record. False
  /// if it is active or inadmissible already. `last` may be null.
  bool Requeue(JobPtr job, RequeueReason reason, LastAssignmentPtr last, WallTime now);
  /// Takes over a whole plan: admitted workloads leave, the others are requeued for the reasons
  /// that it gives and block their queue where it says so.
  void Settle(const Plan& plan, WallTime now);
  /// Calls `visit` for the workload and all that no rule can tell apart from it, in order: what is
  /// said of one of them is true of all.
  void ForEachInClass(JobId id, const std::function<void(const JobPtr&)>& visit) const;

  /// Something that may help changed in these queues: what is inadmissible in them and its back-off
  /// over becomes active again, and blocked queues try their heads again. Returns how many moved.
  std::size_t Flush(const std::vector<std::string>& cluster_queues, WallTime now);
  std::size_t FlushAll(WallTime now);
  /// The same for all queues of the cohort trees that these queues are in (rule A16).
  /// Trees with a cycle are left alone.
  std::size_t FlushTrees(const std::vector<std::string>& cluster_queues, WallTime now);
  /// Quota of this queue came free: flavor scans that began before it may start over.
  void NoteRelease(const std::string& cluster_queue);
  /// Sets the usage that orders a LocalQueue's workloads in usage-based queues (rule A42).
  void SetUsage(const std::string& ns, const std::string& local_queue, double usage);

  QueueCounts Counts(const std::string& cluster_queue) const;
  std::size_t size() const;
  /// True if Heads() would give anything: O(1).
  bool HasActive() const;
  /// True if the workload is in the queue and may be tried; false for those that are inadmissible
  /// or inflight.
  bool IsActive(JobId id) const;
  /// The workload that the queue would put before all others because it waits for its victims; 0 if
  /// none.
  JobId Sticky(const std::string& cluster_queue) const;
  /// All workloads of a queue in order, whatever their standing (for listing and explain); at most
  /// `limit`.
  std::vector<JobPtr> Ordered(const std::string& cluster_queue, std::size_t limit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if `a` is tried before `b` in one ClusterQueue, neither being a preemptor.
bool Before(const JobRecord& a, const JobRecord& b, const AdmissionSettings& settings);

}  // namespace muster::core
