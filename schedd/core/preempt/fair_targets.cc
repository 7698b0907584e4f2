#include "schedd/core/preempt/fair_targets.h"

#include <algorithm>
#include <utility>

namespace muster::core {
FairTargets::FairTargets(const Usage& usage, NodeIndex preemptor_queue)
    : usage_(usage),
      tree_(usage.tree()),
      own_(preemptor_queue),
      root_(tree_.node(preemptor_queue).root),
      on_path_(tree_.node_count()),
      slot_of_(tree_.node_count(), -1) {
  for (NodeIndex at = tree_.parent(own_); at >= 0; at = tree_.parent(at)) {
    on_path_[static_cast<std::size_t>(at)] = true;
  }
  Enter(own_);
  Enter(root_);
}

// Slots come only here, before the first Next: what points to them stays good.
void FairTargets::Enter(NodeIndex node) {
  std::int32_t& at = slot_of_[static_cast<std::size_t>(node)];
  if (at >= 0) return;
  at = static_cast<std::int32_t>(slots_.size());
  slots_.emplace_back().node = node;
}

void FairTargets::Add(CandidateList list) {
  if (list.empty()) return;
  const NodeIndex queue = list.queue();
  for (NodeIndex at = queue; at >= 0; at = tree_.parent(at)) Enter(at);
  SlotOf(queue).list = std::move(list);
}

void FairTargets::Drop(NodeIndex queue) { SlotOf(queue).dropped = true; }

NodeIndex FairTargets::SideOf(NodeIndex queue) const {
  NodeIndex at = queue;
  while (tree_.parent(at) >= 0 && !OnPath(tree_.parent(at))) at = tree_.parent(at);
  return at;
}

NodeIndex FairTargets::PreemptorSide(NodeIndex queue) const {
  const NodeIndex common = tree_.parent(SideOf(queue));
  NodeIndex at = own_;
  while (tree_.parent(at) != common) at = tree_.parent(at);
  return at;
}

bool FairTargets::QueueBelow(const Entry& a, const Entry& b) const {
  if (a.rank != b.rank) return a.rank < b.rank;
  return LookedAtBefore(*b.first, b.node == own_ ? 1 : 0, *a.first, a.node == own_ ? 1 : 0);
}

bool FairTargets::CohortBelow(const Entry& a, const Entry& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.node < b.node;  // the last one of equals is taken
}

// Enters a node with its present share among the children of its parent, or drops it for good: what
// no longer borrows does not borrow again during a search.
void FairTargets::Offer(NodeIndex node) {
  Slot& slot = SlotOf(node);
  ++slot.version;
  if (slot.dropped || node == root_) return;
  const bool queue = tree_.node(node).is_cluster_queue;
  const Share share = ShareOf(usage_, node);
  Entry entry{share.Rank(), nullptr, node, slot.version};
  const bool kept = share.borrowing || (queue ? node == own_ : OnPath(node));
  if (!kept || (queue && slot.list.empty())) {
    slot.dropped = true;
    return;
  }
  Slot& parent = SlotOf(tree_.parent(node));
  if (queue) {
    entry.first = slot.list.head().get();
    parent.queues.push_back(entry);
    std::push_heap(parent.queues.begin(), parent.queues.end(),
                   [this](const Entry& a, const Entry& b) { return QueueBelow(a, b); });
  } else {
    parent.cohorts.push_back(entry);
    std::push_heap(parent.cohorts.begin(), parent.cohorts.end(), CohortBelow);
  }
}

void FairTargets::Refresh(NodeIndex queue) {
  for (NodeIndex at = queue; at >= 0; at = tree_.parent(at)) Offer(at);
}

const FairTargets::Entry* FairTargets::TopQueue(Slot* cohort) {
  Heap& heap = cohort->queues;
  while (!heap.empty()) {
    const Slot& slot = SlotOf(heap.front().node);
    if (!slot.dropped && slot.version == heap.front().version) return &heap.front();
    std::pop_heap(heap.begin(), heap.end(),
                  [this](const Entry& a, const Entry& b) { return QueueBelow(a, b); });
    heap.pop_back();
  }
  return nullptr;
}

const FairTargets::Entry* FairTargets::TopCohort(Slot* cohort) {
  Heap& heap = cohort->cohorts;
  while (!heap.empty()) {
    const Slot& slot = SlotOf(heap.front().node);
    if (!slot.dropped && slot.version == heap.front().version) return &heap.front();
    std::pop_heap(heap.begin(), heap.end(), CohortBelow);
    heap.pop_back();
  }
  return nullptr;
}

CandidateList* FairTargets::Next() {
  if (root_ == own_) {  // no cohort: the queue alone
    Slot& alone = SlotOf(own_);
    return alone.dropped || alone.list.empty() ? nullptr : &alone.list;
  }
  if (!ready_) {
    for (const Slot& slot : slots_) Offer(slot.node);
    ready_ = true;
  } else if (last_ >= 0) {
    Refresh(last_);
  }
  last_ = -1;
  Slot& root = SlotOf(root_);
  while (!root.dropped) {
    Slot* cohort = &root;
    while (true) {
      const Entry* queue = TopQueue(cohort);
      const Entry* below = TopCohort(cohort);
      if (queue == nullptr && below == nullptr) {
        cohort->dropped = true;  // and again from the root
        break;
      }
      // On equal shares the cohort: it may hold a queue with a higher one.
      if (below != nullptr && (queue == nullptr || below->rank >= queue->rank)) {
        cohort = &SlotOf(below->node);
        continue;
      }
      last_ = queue->node;
      return &SlotOf(last_).list;
    }
  }
  return nullptr;
}

}  // namespace muster::core
