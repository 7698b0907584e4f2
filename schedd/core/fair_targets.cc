#include "schedd/core/fair_targets.h"

#include <algorithm>
#include <utility>

namespace muster::core {
namespace {

bool CohortBelow(const Share& a, NodeIndex node_a, const Share& b, NodeIndex node_b) {
  const int order = Compare(a, b);
  return order != 0 ? order < 0 : node_a < node_b;  // the last one of equals is taken
}

}  // namespace

FairTargets::FairTargets(const Usage& usage, NodeIndex preemptor_queue)
    : usage_(usage),
      tree_(usage.tree()),
      own_(preemptor_queue),
      root_(tree_.node(preemptor_queue).root),
      on_path_(tree_.node_count()),
      slot_of_(tree_.node_count(), -1) {
  for (NodeIndex at = tree_.node(own_).parent; at >= 0; at = tree_.node(at).parent) {
    on_path_[static_cast<std::size_t>(at)] = true;
  }
}

FairTargets::Slot& FairTargets::SlotOf(NodeIndex node) {
  std::int32_t& at = slot_of_[static_cast<std::size_t>(node)];
  if (at < 0) {
    at = static_cast<std::int32_t>(slots_.size());
    slots_.emplace_back().node = node;
  }
  return slots_[static_cast<std::size_t>(at)];
}

void FairTargets::Add(CandidateList list) {
  if (list.empty()) return;
  const NodeIndex queue = list.queue();
  SlotOf(queue).list = std::move(list);
  for (NodeIndex at = tree_.node(queue).parent; at >= 0; at = tree_.node(at).parent) SlotOf(at);
}

void FairTargets::Drop(NodeIndex queue) { SlotOf(queue).dropped = true; }

NodeIndex FairTargets::SideOf(NodeIndex queue) const {
  NodeIndex at = queue;
  while (tree_.node(at).parent >= 0 && !OnPath(tree_.node(at).parent)) at = tree_.node(at).parent;
  return at;
}

NodeIndex FairTargets::PreemptorSide(NodeIndex queue) const {
  const NodeIndex common = tree_.node(SideOf(queue)).parent;
  NodeIndex at = own_;
  while (tree_.node(at).parent != common) at = tree_.node(at).parent;
  return at;
}

bool FairTargets::QueueBelow(const Entry& a, const Entry& b) const {
  const int order = Compare(a.share, b.share);
  if (order != 0) return order < 0;
  return LookedAtBefore(*b.first, b.node == own_ ? 1 : 0, *a.first, a.node == own_ ? 1 : 0);
}

// Enters a node with its present share among the children of its parent, or drops it for good: what
// no longer borrows does not borrow again during a search.
void FairTargets::Offer(NodeIndex node) {
  Slot& slot = SlotOf(node);
  ++slot.version;
  if (slot.dropped || node == root_) return;
  const bool queue = tree_.node(node).is_cluster_queue;
  Entry entry{ShareOf(usage_, node), nullptr, node, slot.version};
  const bool kept = entry.share.borrowing || (queue ? node == own_ : OnPath(node));
  if (!kept || (queue && slot.list.empty())) {
    slot.dropped = true;
    return;
  }
  Slot& parent = SlotOf(tree_.node(node).parent);
  if (queue) {
    entry.first = slot.list.head().get();
    parent.queues.push_back(entry);
    std::push_heap(parent.queues.begin(), parent.queues.end(),
                   [this](const Entry& a, const Entry& b) { return QueueBelow(a, b); });
  } else {
    parent.cohorts.push_back(entry);
    std::push_heap(parent.cohorts.begin(), parent.cohorts.end(),
                   [](const Entry& a, const Entry& b) {
                     return CohortBelow(a.share, a.node, b.share, b.node);
                   });
  }
}

void FairTargets::Refresh(NodeIndex queue) {
  for (NodeIndex at = queue; at >= 0; at = tree_.node(at).parent) Offer(at);
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
    std::pop_heap(heap.begin(), heap.end(), [](const Entry& a, const Entry& b) {
      return CohortBelow(a.share, a.node, b.share, b.node);
    });
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
      if (below != nullptr && (queue == nullptr || Compare(below->share, queue->share) >= 0)) {
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
