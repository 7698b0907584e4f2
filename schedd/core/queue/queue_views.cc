// PendingQueues: heads, lists, counts, flushes and usages (rules A12, A16, A42).
//
// Heads shows every ready queue, and blocked queues as well where another head of their tree is
// tried: what a blocked head waits for is kept from the others for the length of the cycle (rule
// A24), and with fair sharing it takes part in its tree's tournament even if it does not fit (rule
// A22). A blocked head that fits nowhere (kNoFit) keeps nothing, so without fair sharing it is not
// shown.
#include <algorithm>

#include "schedd/core/queue/pending_queues_impl.h"

namespace muster::core {

std::vector<const PendingQueue*> PendingQueues::Impl::InCycle() const {
  std::vector<const PendingQueue*> shown;
  std::set<NodeIndex> roots;
  for (const auto& [name, queue] : ready) {
    shown.push_back(queue);
    if (!blocked.empty()) roots.insert(RootOf(name));
  }
  const std::size_t first = shown.size();
  for (const NodeIndex root : roots) {
    const auto names = blocked.find(root);
    if (names == blocked.end()) continue;
    for (const std::string& name : names->second) {
      const auto found = queues.find(name);
      if (found == queues.end() || ready.contains(name)) continue;
      const PendingQueue& queue = found->second;
      const bool matters = settings->fair_sharing || queue.blocked_for != RequeueReason::kNoFit;
      if (matters && queue.active_jobs > 0) shown.push_back(&queue);
    }
  }
  if (shown.size() > first) {
    std::sort(shown.begin(), shown.end(),
              [](const PendingQueue* a, const PendingQueue* b) { return a->name < b->name; });
  }
  return shown;
}

// A queue is shown with at least its head or not at all; when `total` is used up the rest is left
// out.
std::vector<QueueHeads> PendingQueues::Heads(std::size_t per_queue, std::size_t total) const {
  std::vector<QueueHeads> heads;
  for (const PendingQueue* queue : impl_->InCycle()) {
    std::size_t take = std::min({per_queue, total, queue->active_jobs});
    if (take == 0) break;
    if (queue->rules.usage_based) take = 1;
    QueueHeads& entry = heads.emplace_back();
    entry.cluster_queue = queue->name;
    entry.preemptor = queue->preemptor;
    entry.generation = impl_->GenerationOf(queue->name);
    entry.jobs.reserve(take);
    entry.jobs.push_back(queue->Head(impl_->StickyOf(*queue))->job);
    // The first head may be the sticky preemptor, which the merge meets again in its own place.
    SeatMerge merge(queue->active());
    while (entry.jobs.size() < take) {
      const JobPtr& job = merge.Next()->job;
      if (job != entry.jobs.front()) entry.jobs.push_back(job);
    }
    if (!queue->last.empty()) {
      for (const auto& job : entry.jobs) {
        const auto last = queue->last.find(job->id);
        if (last != queue->last.end()) entry.last.insert(*last);
      }
    }
    for (const auto& [id, admission] : queue->short_of_room) {
      if (const auto* place = impl_->PlaceOf(id))
        entry.short_of_room.emplace_back(place->job(), admission);
    }
    entry.more = queue->active_jobs > take;
    total -= take;
  }
  return heads;
}

// A workload in a pen stands for itself alone.
void PendingQueues::ForEachInClass(JobId id,
                                   const std::function<void(const JobPtr&)>& visit) const {
  const auto* place = impl_->PlaceOf(id);
  if (place == nullptr) return;
  if (place->of->group == nullptr) {
    visit(place->job());
    return;
  }
  for (const Seat& seat : place->of->members) visit(seat.job);
}

std::size_t PendingQueues::Flush(const std::vector<std::string>& cluster_queues, WallTime now) {
  std::size_t moved = 0;
  for (const auto& name : cluster_queues) {
    const auto found = impl_->queues.find(name);
    if (found != impl_->queues.end()) moved += impl_->FlushOne(found->second, now);
  }
  return moved;
}

std::size_t PendingQueues::FlushAll(WallTime now) {
  std::size_t moved = 0;
  for (auto& [name, queue] : impl_->queues) moved += impl_->FlushOne(queue, now);
  return moved;
}

std::size_t PendingQueues::FlushTrees(const std::vector<std::string>& cluster_queues,
                                      WallTime now) {
  std::set<NodeIndex> roots;
  for (const auto& name : cluster_queues) {
    const NodeIndex node = impl_->tree->ClusterQueueIndex(name);
    if (node >= 0 && !impl_->tree->node(node).in_cycle) roots.insert(impl_->tree->node(node).root);
  }
  std::size_t moved = 0;
  for (auto& [name, queue] : impl_->queues) {
    if (roots.contains(impl_->RootOf(name))) moved += impl_->FlushOne(queue, now);
  }
  return moved;
}

void PendingQueues::NoteRelease(const std::string& cluster_queue) {
  ++impl_->generations[cluster_queue];
}

// All usage-based queues are sorted anew: a LocalQueue's usage may order several of them.
void PendingQueues::SetUsage(const std::string& ns, const std::string& local_queue, double usage) {
  double& known = impl_->usage[{ns, local_queue}];
  if (known == usage) return;
  known = usage;
  for (auto& [name, queue] : impl_->queues) {
    if (!queue.rules.usage_based) continue;
    queue.Reorder([&](const std::string& of_ns, const std::string& of_queue) {
      const auto found = impl_->usage.find({of_ns, of_queue});
      return found == impl_->usage.end() ? 0 : found->second;
    });
    impl_->UpdateReady(queue);
  }
}

// An inflight workload counts as inadmissible until it is requeued.
QueueCounts PendingQueues::Counts(const std::string& cluster_queue) const {
  const auto found = impl_->queues.find(cluster_queue);
  if (found == impl_->queues.end()) return {};
  const PendingQueue& queue = found->second;
  return {queue.active_jobs, queue.inadmissible_jobs + queue.inflight_jobs};
}

std::size_t PendingQueues::size() const { return impl_->places.size(); }

bool PendingQueues::HasActive() const { return !impl_->ready.empty(); }

bool PendingQueues::IsActive(JobId id) const {
  const auto* place = impl_->PlaceOf(id);
  return place != nullptr && place->standing() == PendingState::kActive;
}

namespace {

// All workloads of a usage-based queue in order. Merging the classes would not do, because a pen
// has workloads of several LocalQueues.
std::vector<Seat> SortedByUsage(const ClassesByHead& all,
                                const std::function<double(const JobRecord&)>& usage_of) {
  std::vector<Seat> seats;
  for (const QueueClass* of : all)
    seats.insert(seats.end(), of->members.begin(), of->members.end());
  std::sort(seats.begin(), seats.end(), [&](const Seat& a, const Seat& b) {
    const double x = usage_of(*a.job);
    const double y = usage_of(*b.job);
    return x != y ? x < y : Before(a, b);
  });
  return seats;
}

}  // namespace

// The sticky preemptor is put before the first workload whose LocalQueue has at least its usage.
std::vector<JobPtr> PendingQueues::Ordered(const std::string& cluster_queue,
                                           std::size_t limit) const {
  std::vector<JobPtr> ordered;
  const auto found = impl_->queues.find(cluster_queue);
  if (found == impl_->queues.end()) return ordered;
  PendingQueue& queue = found->second;
  // Classes and pens of all states, in one order.
  ClassesByHead all = queue.active();
  const std::vector<QueueClass*> others = queue.Others();
  all.insert(others.begin(), others.end());
  const auto usage_of = [&](const JobRecord& job) { return impl_->UsageOf(queue, job); };
  std::vector<Seat> sorted;
  if (queue.rules.usage_based) sorted = SortedByUsage(all, usage_of);
  const auto* sticky = impl_->StickyOf(queue);
  JobPtr first = sticky == nullptr ? nullptr : sticky->job();
  SeatMerge merge(all);
  for (std::size_t i = 0; ordered.size() < limit; ++i) {
    const Seat* seat = nullptr;
    if (!queue.rules.usage_based) {
      seat = merge.Next();
    } else if (i < sorted.size()) {
      seat = &sorted[i];
    }
    if (seat == nullptr) break;
    if (first != nullptr && usage_of(*seat->job) >= usage_of(*first)) {
      ordered.push_back(std::exchange(first, nullptr));
      if (ordered.size() == limit) break;
    }
    if (sticky == nullptr || seat->job != sticky->job()) ordered.push_back(seat->job);
  }
  return ordered;
}

}  // namespace muster::core
