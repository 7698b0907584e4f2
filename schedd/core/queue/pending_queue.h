// PendingQueue: the waiting workloads of one ClusterQueue and the state of each: active, parked
// (Kueue: inadmissible) or inflight (rules A12 to A16). Internal to PendingQueues; not thread-safe.
//
// Equal workloads (Kueue: same scheduling hash) are a Group. Those of one group that share
// namespace and LocalQueue are a Class, with its members in order. A pen is a set of single
// workloads that are set aside. Parking and waking move classes and never members, so both cost the
// number of classes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedd/core/plan/requeue.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// A workload with the values that order it, computed when it came.
struct Seat {
  std::int32_t tier = 1;      // of its partition (rule B29)
  std::int64_t priority = 0;  // effective
  WallTime time;              // rule A8
  JobPtr job;
};

/// Higher tier, then higher priority, then earlier queue timestamp, then earlier acceptance.
bool Before(const Seat& a, const Seat& b);

struct SeatBefore {
  bool operator()(const Seat& a, const Seat& b) const { return Before(a, b); }
};
using Seats = std::set<Seat, SeatBefore>;

struct QueueGroup;

/// The state of a class or of a pen. kInflight: taken out by Pop, and not yet requeued.
enum class PendingState : std::uint8_t { kActive, kParked, kInflight };

/// Workloads of one group, namespace and LocalQueue; or a pen.
struct QueueClass {
  QueueGroup* group = nullptr;  // null: this is a pen
  PendingState standing = PendingState::kActive;
  std::size_t parked_at = 0;  // position in the queue's `parked_`
  double usage = 0;           // usage of the LocalQueue, in a usage-based queue
  Seats members;              // a class is never empty between calls, a pen may be
  const Seat& head() const { return *members.begin(); }
};

/// All workloads of a queue with one scheduling key.
struct QueueGroup {
  const std::string* key = nullptr;  // points into its queue's map
  bool parked = false;               // a workload that joins the group is parked too
  std::size_t parked_at = 0;         // position in the queue's `parked_groups_`
  std::map<std::pair<std::string, std::string>, QueueClass> classes;  // by (namespace, LocalQueue)
};

/// Lower usage of the LocalQueue first (KEP-4136), then the order of the heads.
struct ClassBefore {
  bool operator()(const QueueClass* a, const QueueClass* b) const {
    if (a->usage != b->usage) return a->usage < b->usage;
    return Before(a->head(), b->head());
  }
};
using ClassesByHead = std::set<QueueClass*, ClassBefore>;

/// The members of several classes, merged in order; a class is opened only when its head is the
/// next.
class SeatMerge {
 public:
  explicit SeatMerge(const ClassesByHead& classes) : next_(classes.begin()), end_(classes.end()) {}
  /// The next member; null at the end.
  const Seat* Next();

 private:
  struct Cursor {
    double usage;
    Seats::const_iterator at, end;
  };
  static bool Later(const Cursor& a, const Cursor& b);
  void Push(Cursor cursor);

  ClassesByHead::const_iterator next_, end_;
  std::vector<Cursor> open_;
};

/// The settings of a queue that decide how it orders and parks.
struct QueueRules {
  bool strict = false;       // StrictFIFO
  bool usage_based = false;  // KEP-4136
  bool hashing = true;       // gate SchedulingEquivalenceHashing
  bool preempts = false;     // some policy lets it evict
  bool operator==(const QueueRules&) const = default;
};

class PendingQueue {
 public:
  /// Where a workload is: its queue, its class or pen, and its position there.
  struct Place {
    PendingQueue* queue = nullptr;
    QueueClass* of = nullptr;
    Seats::iterator at;
    const JobPtr& job() const { return at->job; }
    PendingState standing() const { return of->standing; }
  };

  explicit PendingQueue(std::string name);
  PendingQueue(const PendingQueue&) = delete;
  PendingQueue& operator=(const PendingQueue&) = delete;

  /// Puts a workload among its equals, which are active or parked. `hash` is the key of its group.
  Place Insert(Seat seat, const std::string& hash, double usage);
  /// Puts a workload into a pen until a flush: that of back-offs, or that of its namespace.
  Place SetAside(Seat seat, bool backoff);
  Place SetInflight(Seat seat);
  void Erase(const Place& place);
  /// Exchanges the record of a workload for a newer one, in the same class or pen.
  Place Replace(const Place& place, Seat seat);

  /// Parks all classes of a group; no-op if it has none. With `newcomers`, workloads that join the
  /// group before the next flush are parked too.
  void ParkGroup(const std::string& hash, bool newcomers);
  /// Parks one class; no-op for pens.
  void ParkClass(QueueClass* of);
  /// Wakes all workloads whose back-off is over and whose namespace `matches(namespace)`. Workloads
  /// from pens are passed to `rejoin(seat)`, which inserts them. Returns how many became active.
  template <class Matches, class Rejoin>
  std::size_t Flush(WallTime now, const Matches& matches, const Rejoin& rejoin);
  /// Sorts the classes anew after `usage_of(namespace, LocalQueue)` changed.
  template <class UsageOf>
  void Reorder(const UsageOf& usage_of);

  /// The first active workload, null if none. The sticky preemptor (null: none), if it is active,
  /// comes before those of equal LocalQueue usage.
  const Seat* Head(const Place* sticky) const;
  /// True if the queue has a head and is not blocked by it.
  bool Ready(const Place* sticky) const {
    const Seat* head = Head(sticky);
    return head != nullptr && head->job->id != blocked_by;
  }
  bool empty() const {
    return groups_.empty() && asides_.empty() && backoff_.members.empty() &&
           inflight_.members.empty();
  }
  const ClassesByHead& active() const { return active_; }
  /// All classes and pens that are not active, in no particular order.
  std::vector<QueueClass*> Others();

  const std::string name;
  QueueRules rules;
  std::size_t active_jobs = 0, inadmissible_jobs = 0, inflight_jobs = 0;
  JobId preemptor;       // the workload last requeued for PendingPreemption or PendingMigration
  JobPtr preemptor_was;  // its record at that time
  JobId blocked_by;      // the head that blocks the queue; 0: not blocked
  RequeueReason blocked_for = RequeueReason::kGeneric;
  std::int64_t pop_cycle = 0, flush_cycle = -1;
  std::map<JobId, LastAssignmentPtr> last;      // flavor searches that are to be resumed
  std::map<JobId, AdmissionPtr> short_of_room;  // UnadmittedWorkload::short_of_room
  JobPtr inflight_was;  // the inflight workload as it was popped, if it changed since

 private:
  std::size_t& CountOf(PendingState standing);
  // Changes the members of a class, its place among the active classes and the counts.
  template <class Change>
  void ChangeMembers(QueueClass* of, const Change& change);
  // Takes a class off the list of parked ones.
  void Unlist(QueueClass* of);
  Place Put(QueueClass* of, Seat seat);

  std::unordered_map<std::string, QueueGroup> groups_;  // by scheduling key; never iterated
  ClassesByHead active_;
  std::vector<QueueClass*> parked_;
  std::vector<QueueGroup*> parked_groups_;
  std::map<std::string, QueueClass> asides_;  // pens by namespace
  QueueClass backoff_, inflight_;             // pens
};

template <class Matches, class Rejoin>
std::size_t PendingQueue::Flush(WallTime now, const Matches& matches, const Rejoin& rejoin) {
  flush_cycle = pop_cycle;
  blocked_by = JobId{};
  for (QueueGroup* group : parked_groups_) group->parked = false;
  parked_groups_.clear();
  std::size_t moved = 0;
  std::vector<QueueClass*> still;
  for (QueueClass* of : parked_) {
    if (!matches(of->head().job->ns)) {
      of->parked_at = still.size();
      still.push_back(of);
      continue;
    }
    of->standing = PendingState::kActive;
    active_.insert(of);
    moved += of->members.size();
  }
  parked_ = std::move(still);
  active_jobs += moved;
  inadmissible_jobs -= moved;
  std::vector<Seat> back;
  for (const auto& [ns, pen] : asides_) {
    if (matches(ns)) back.insert(back.end(), pen.members.begin(), pen.members.end());
  }
  for (const Seat& seat : backoff_.members) {
    if (matches(seat.job->ns) && BackoffExpired(*seat.job, now)) back.push_back(seat);
  }
  for (const Seat& seat : back) rejoin(seat);
  return moved + back.size();
}

template <class UsageOf>
void PendingQueue::Reorder(const UsageOf& usage_of) {
  std::vector<QueueClass*> classes(active_.begin(), active_.end());
  active_.clear();
  const auto refresh = [&](QueueClass* of) {
    const JobRecord& job = *of->head().job;
    of->usage = usage_of(job.ns, job.local_queue);
  };
  for (QueueClass* of : classes) refresh(of);
  for (QueueClass* of : parked_) refresh(of);
  active_.insert(classes.begin(), classes.end());
}

}  // namespace muster::core
