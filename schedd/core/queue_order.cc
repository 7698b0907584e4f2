#include "schedd/core/queue_order.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "schedd/base/check.h"
#include "schedd/core/workload_class.h"

namespace muster::core {
namespace {

struct JobBefore {
  bool operator()(const JobPtr& a, const JobPtr& b) const { return Before(*a, *b); }
};
using Members = std::set<JobPtr, JobBefore>;

struct Queue;

struct Class {
  Queue* queue = nullptr;
  const std::string* key = nullptr;  // in its queue's map
  Members members;                   // never empty between calls
  bool parked = false;
  std::size_t parked_at = 0;  // position in the queue's `parked`
  const JobRecord& head() const { return **members.begin(); }
};

// Classes of one queue share no member, so their heads are never equal.
struct HeadBefore {
  bool operator()(const Class* a, const Class* b) const { return Before(a->head(), b->head()); }
};
using ClassesByHead = std::set<Class*, HeadBefore>;

struct Queue {
  std::string name;
  std::unordered_map<std::string, Class> classes;  // by class key; looked up, never iterated
  ClassesByHead active;
  std::vector<Class*> parked;
  std::size_t active_jobs = 0, parked_jobs = 0;
  JobId blocked_by;  // 0: not blocked
  bool Ready() const {
    return !active.empty() && (blocked_by.value == 0 || (*active.begin())->head().id != blocked_by);
  }
};

// The members of several classes, merged in order; a class is opened only when its head comes up.
class Merge {
 public:
  explicit Merge(const ClassesByHead& classes) : next_(classes.begin()), end_(classes.end()) {}

  // Null at the end.
  const JobPtr* Next() {
    while (next_ != end_ && (open_.empty() || Before((*next_)->head(), **open_.front().at))) {
      Push({(*next_)->members.begin(), (*next_)->members.end()});
      ++next_;
    }
    if (open_.empty()) return nullptr;
    std::pop_heap(open_.begin(), open_.end(), Later);
    Cursor cursor = open_.back();
    open_.pop_back();
    const JobPtr* job = &*cursor.at;
    if (++cursor.at != cursor.end) Push(cursor);
    return job;
  }

 private:
  struct Cursor {
    Members::const_iterator at, end;
  };
  static bool Later(const Cursor& a, const Cursor& b) { return Before(**b.at, **a.at); }
  void Push(Cursor cursor) {
    open_.push_back(cursor);
    std::push_heap(open_.begin(), open_.end(), Later);
  }

  ClassesByHead::const_iterator next_, end_;
  std::vector<Cursor> open_;
};

}  // namespace

bool Before(const JobRecord& a, const JobRecord& b) {
  return std::make_tuple(-std::int64_t{a.priority}, a.submit_time, a.accept_seq, a.id) <
         std::make_tuple(-std::int64_t{b.priority}, b.submit_time, b.accept_seq, b.id);
}

struct PendingQueues::Impl {
  struct Place {
    Class* of = nullptr;
    Members::iterator at;
  };

  std::map<std::string, Queue> queues;
  std::unordered_map<JobId, Place> places;  // looked up, never iterated
  std::map<std::string, Queue*> ready;      // queues with heads, in name order
  std::string key;                          // reused buffer

  void UpdateReady(Queue& queue) {
    if (queue.Ready()) {
      ready.emplace(queue.name, &queue);
    } else {
      ready.erase(queue.name);
    }
  }

  Queue& QueueOf(const std::string& name) {
    const auto [it, fresh] = queues.try_emplace(name);
    if (fresh) it->second.name = name;
    return it->second;
  }

  Class& ClassOf(Queue& queue, const JobRecord& job) {
    key.clear();
    AppendClassKey(job, &key);
    const auto [it, fresh] = queue.classes.try_emplace(key);
    if (fresh) {
      it->second.queue = &queue;
      it->second.key = &it->first;
    }
    return it->second;
  }

  // Changes the members of a class and keeps its place among the active ones right.
  template <class Change>
  void ChangeMembers(Class& of, const Change& change) {
    Queue& queue = *of.queue;
    const bool listed = !of.parked && !of.members.empty();
    // The place among the active classes depends on the head alone.
    if (listed) queue.active.erase(&of);
    auto& count = of.parked ? queue.parked_jobs : queue.active_jobs;
    count -= of.members.size();
    change();
    count += of.members.size();
    if (!of.members.empty()) {
      if (!of.parked) queue.active.insert(&of);
      return;
    }
    if (of.parked) Unlist(of);
    queue.classes.erase(queue.classes.find(*of.key));
  }

  void Unlist(Class& of) {
    auto& parked = of.queue->parked;
    parked.back()->parked_at = of.parked_at;
    parked[of.parked_at] = parked.back();
    parked.pop_back();
  }

  void Activate(Queue& queue) {
    for (Class* of : queue.parked) {
      of->parked = false;
      queue.active.insert(of);
    }
    queue.parked.clear();
    queue.active_jobs += queue.parked_jobs;
    queue.parked_jobs = 0;
    queue.blocked_by = JobId{};
    UpdateReady(queue);
  }

  void EraseIfIdle(Queue& queue) {
    if (!queue.classes.empty()) return;
    ready.erase(queue.name);
    const std::string name = queue.name;
    queues.erase(name);
  }
};

PendingQueues::PendingQueues() : impl_(std::make_unique<Impl>()) {}
PendingQueues::~PendingQueues() = default;
PendingQueues::PendingQueues(PendingQueues&&) noexcept = default;
PendingQueues& PendingQueues::operator=(PendingQueues&&) noexcept = default;

void PendingQueues::Add(JobPtr job) {
  MUSTER_CHECK(job != nullptr);
  Remove(job->id);
  Queue& queue = impl_->QueueOf(job->cluster_queue);
  Class& of = impl_->ClassOf(queue, *job);
  const JobId id = job->id;
  Members::iterator at;
  impl_->ChangeMembers(of, [&] {
    const auto [place, fresh] = of.members.insert(std::move(job));
    MUSTER_CHECK(fresh);
    at = place;
  });
  impl_->places[id] = {&of, at};
  impl_->UpdateReady(queue);
}

bool PendingQueues::Remove(JobId id) {
  const auto it = impl_->places.find(id);
  if (it == impl_->places.end()) return false;
  const auto place = it->second;
  Queue& queue = *place.of->queue;
  impl_->places.erase(it);
  impl_->ChangeMembers(*place.of, [&] { place.of->members.erase(place.at); });
  if (queue.blocked_by == id) queue.blocked_by = JobId{};
  impl_->UpdateReady(queue);
  impl_->EraseIfIdle(queue);
  return true;
}

bool PendingQueues::Contains(JobId id) const { return impl_->places.contains(id); }

JobPtr PendingQueues::Find(JobId id) const {
  const auto it = impl_->places.find(id);
  return it == impl_->places.end() ? nullptr : *it->second.at;
}

std::vector<QueueHeads> PendingQueues::Heads(std::size_t per_queue, std::size_t total) const {
  std::vector<QueueHeads> heads;
  for (const auto& [name, queue] : impl_->ready) {
    const std::size_t take = std::min({per_queue, total, queue->active_jobs});
    if (take == 0) break;
    QueueHeads& entry = heads.emplace_back();
    entry.cluster_queue = name;
    entry.jobs.reserve(take);
    Merge merge(queue->active);
    while (entry.jobs.size() < take) entry.jobs.push_back(*merge.Next());
    entry.more = queue->active_jobs > take;
    total -= take;
  }
  return heads;
}

void PendingQueues::Park(JobId id) {
  const auto it = impl_->places.find(id);
  if (it == impl_->places.end() || it->second.of->parked) return;
  Class& of = *it->second.of;
  Queue& queue = *of.queue;
  queue.active.erase(&of);
  of.parked = true;
  of.parked_at = queue.parked.size();
  queue.parked.push_back(&of);
  queue.active_jobs -= of.members.size();
  queue.parked_jobs += of.members.size();
  impl_->UpdateReady(queue);
}

void PendingQueues::Block(JobId id) {
  const auto it = impl_->places.find(id);
  if (it == impl_->places.end() || it->second.of->parked) return;
  Queue& queue = *it->second.of->queue;
  if ((*queue.active.begin())->head().id != id) return;
  queue.blocked_by = id;
  impl_->UpdateReady(queue);
}

void PendingQueues::Settle(const Plan& plan) {
  for (const auto& admit : plan.admits) Remove(admit.job->id);
  // Parking first: what a gate keeps out must not stand before the head that blocks.
  for (const auto& waiting : plan.not_admitted) {
    if (waiting.park) Park(waiting.job->id);
  }
  for (const auto& waiting : plan.not_admitted) {
    if (waiting.block) Block(waiting.job->id);
  }
}

void PendingQueues::ForEachInClass(JobId id,
                                   const std::function<void(const JobPtr&)>& visit) const {
  const auto it = impl_->places.find(id);
  if (it == impl_->places.end()) return;
  for (const auto& job : it->second.of->members) visit(job);
}

void PendingQueues::Flush(const std::vector<std::string>& cluster_queues) {
  for (const auto& name : cluster_queues) {
    const auto it = impl_->queues.find(name);
    if (it != impl_->queues.end()) impl_->Activate(it->second);
  }
}

void PendingQueues::FlushAll() {
  for (auto& [name, queue] : impl_->queues) impl_->Activate(queue);
}

QueueCounts PendingQueues::Counts(const std::string& cluster_queue) const {
  const auto it = impl_->queues.find(cluster_queue);
  if (it == impl_->queues.end()) return {};
  return {it->second.active_jobs, it->second.parked_jobs};
}

std::size_t PendingQueues::size() const { return impl_->places.size(); }

bool PendingQueues::HasActive() const { return !impl_->ready.empty(); }

std::vector<JobPtr> PendingQueues::Ordered(const std::string& cluster_queue,
                                           std::size_t limit) const {
  std::vector<JobPtr> ordered;
  const auto it = impl_->queues.find(cluster_queue);
  if (it == impl_->queues.end()) return ordered;
  ClassesByHead parked;
  for (Class* of : it->second.parked) parked.insert(of);
  Merge active_merge(it->second.active);
  Merge parked_merge(parked);
  const JobPtr* a = active_merge.Next();
  const JobPtr* b = parked_merge.Next();
  while ((a != nullptr || b != nullptr) && ordered.size() < limit) {
    const bool take_a = b == nullptr || (a != nullptr && Before(**a, **b));
    ordered.push_back(take_a ? *a : *b);
    (take_a ? a : b) = take_a ? active_merge.Next() : parked_merge.Next();
  }
  return ordered;
}

}  // namespace muster::core
