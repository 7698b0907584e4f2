// PendingQueue: the waiting workloads of one ClusterQueue and where each of them stands: active,
// inflight, or inadmissible (rules A12 to A16). The machine inside PendingQueues; not thread-safe.
//
// Equal workloads (same scheduling hash in Kueue's words: priority and pod sets) are a Group; those
// of one group that share namespace and LocalQueue are a Class, whose members stand in order.
// Parking and waking move classes, never members, so both cost what there are of kinds.
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

/// A workload with what orders it, worked out when it came.
struct Seat {
  std::int64_t priority = 0;  // effective
  WallTime time;              // rule A8
  JobPtr job;
};

/// Higher priority, earlier queue timestamp, earlier acceptance.
bool Before(const Seat& a, const Seat& b);

struct SeatBefore {
  bool operator()(const Seat& a, const Seat& b) const { return Before(a, b); }
};
using Seats = std::set<Seat, SeatBefore>;

struct QueueGroup;

/// Where a set of workloads stands.
enum class Standing : std::uint8_t { kActive, kParked, kInflight };

struct QueueClass {
  QueueGroup* group = nullptr;  // null: not a class but a pen of single workloads
  Standing standing = Standing::kActive;
  std::size_t parked_at = 0;  // position in the queue's `parked`
  double usage = 0;           // of its LocalQueue, in a usage-based queue
  Seats members;              // never empty between calls, apart from pens
  const Seat& head() const { return *members.begin(); }
};

struct QueueGroup {
  const std::string* key = nullptr;  // in its queue's map
  bool parked = false;               // whoever joins is parked too
  std::size_t parked_at = 0;         // position in the queue's `parked_groups_`
  std::map<std::pair<std::string, std::string>, QueueClass> classes;  // (namespace, LocalQueue)
};

/// Lower usage of the LocalQueue first (KEP-4136), then the order of the heads.
struct ClassBefore {
  bool operator()(const QueueClass* a, const QueueClass* b) const {
    if (a->usage != b->usage) return a->usage < b->usage;
    return Before(a->head(), b->head());
  }
};
using ClassesByHead = std::set<QueueClass*, ClassBefore>;

/// The members of several classes, merged in order; a class is opened only when its head comes up.
class SeatMerge {
 public:
  explicit SeatMerge(const ClassesByHead& classes) : next_(classes.begin()), end_(classes.end()) {}
  /// Null at the end.
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

/// What the configuration says of a queue.
struct QueueRules {
  bool strict = false;       // StrictFIFO
  bool usage_based = false;  // KEP-4136
  bool hashing = true;       // gate SchedulingEquivalenceHashing
  bool preempts = false;     // more use in its tree may open a preemption to it
  bool operator==(const QueueRules&) const = default;
};

class PendingQueue {
 public:
  struct Place {
    PendingQueue* queue = nullptr;
    QueueClass* of = nullptr;
    Seats::iterator at;
    const JobPtr& job() const { return at->job; }
    Standing standing() const { return of->standing; }
  };

  explicit PendingQueue(std::string name);
  PendingQueue(const PendingQueue&) = delete;
  PendingQueue& operator=(const PendingQueue&) = delete;

  /// Puts a workload among its equals: active, or parked with them. `hash` is its group's key.
  Place Insert(Seat seat, const std::string& hash, double usage);
  /// Puts it aside alone until a flush: in its back-off, or until its namespace matches.
  Place SetAside(Seat seat, bool backoff);
  Place SetInflight(Seat seat);
  void Erase(const Place& place);
  /// A newer record of the same workload, where the old one stands.
  Place Replace(const Place& place, Seat seat);

  /// Parks all workloads of a group, those of all LocalQueues; no-op if it has none.
  /// With `newcomers` whoever joins the group before the next flush is parked too.
  void ParkGroup(const std::string& hash, bool newcomers);
  /// Parks one class; no-op for pens.
  void ParkClass(QueueClass* of);
  /// Wakes what may be tried again: whose back-off is over and whose namespace still
  /// `matches(namespace)`; those from pens are handed to `rejoin(seat)`, which inserts them.
  /// Returns how many came back.
  template <class Matches, class Rejoin>
  std::size_t Flush(WallTime now, const Matches& matches, const Rejoin& rejoin);
  /// Sorts the classes anew after `usage_of(namespace, LocalQueue)` changed.
  template <class UsageOf>
  void Reorder(const UsageOf& usage_of);

  /// The first active one, null if none: the sticky preemptor, if it is active, before those of
  /// equal LocalQueue usage.
  const Seat* Head(const Place* sticky) const;
  bool Ready(const Place* sticky) const {
    const Seat* head = Head(sticky);
    return head != nullptr && head->job->id != blocked_by;
  }
  bool empty() const {
    return groups_.empty() && asides_.empty() && backoff_.members.empty() &&
           inflight_.members.empty();
  }
  const ClassesByHead& active() const { return active_; }
  /// All that are not active, unordered between the sets.
  std::vector<QueueClass*> Others();

  const std::string name;
  QueueRules rules;
  std::size_t active_jobs = 0, inadmissible_jobs = 0, inflight_jobs = 0;
  JobId preemptor;       // the workload last requeued for PendingPreemption or PendingMigration
  JobPtr preemptor_was;  // as it was then
  JobId blocked_by;      // 0: not blocked
  RequeueReason blocked_for = RequeueReason::kGeneric;
  std::int64_t pop_cycle = 0, flush_cycle = -1;
  std::map<JobId, LastAssignmentPtr> last;      // where the scans of some ended
  std::map<JobId, AdmissionPtr> short_of_room;  // as NotAdmitted says
  JobPtr inflight_was;  // the inflight one as it was popped, if it changed since

 private:
  std::size_t& CountOf(Standing standing);
  // Changes the members of a class and keeps its place among the active ones right.
  template <class Change>
  void ChangeMembers(QueueClass* of, const Change& change);
  void Unlist(QueueClass* of);
  Place Put(QueueClass* of, Seat seat);

  std::unordered_map<std::string, QueueGroup> groups_;  // looked up, never iterated
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
    of->standing = Standing::kActive;
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
