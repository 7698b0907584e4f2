// FairTargets: the order in which ClusterQueues give up workloads (KEP-1714, rule A40).
//
// Each cohort keeps two max-heaps of its children, one of queues and one of cohorts, by share. Next
// walks down from the root: at each cohort it goes to the child with the highest share, a cohort
// before a queue of equal share, until it arrives at a queue. Queues of equal share are ordered by
// their first candidates. Kueue leaves the order of cohorts with equal shares to chance; here the
// last by name goes first (rule A63).
//
// Taking a victim changes the shares of its queue and of the cohorts above, and of nothing else. So
// only these are entered again (Refresh); their old heap entries get a stale version and are
// dropped when they reach the top. A step costs the height of the tree times the logarithm of its
// widest cohort, where Kueue computes all shares of the tree anew.
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

// All slots are made before the first Next: afterwards references into slots_ stay valid.
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

// True if `b` gives before `a`. Candidates of other queues come before those of the preemptor's
// own.
bool FairTargets::QueueBelow(const Entry& a, const Entry& b) const {
  if (a.rank != b.rank) return a.rank < b.rank;
  return LookedAtBefore(*b.first, b.node == own_ ? 1 : 0, *a.first, a.node == own_ ? 1 : 0);
}

// Of cohorts with equal shares the last by name gives first: indices are in name order.
bool FairTargets::CohortBelow(const Entry& a, const Entry& b) {
  if (a.rank != b.rank) return a.rank < b.rank;
  return a.node < b.node;
}

// Enters a node with its present share in the heap of its parent, or drops it for good. Only nodes
// that borrow give, and the preemptor's own queue and the cohorts above it. Usage only falls during
// a search, so a node that no longer borrows does not borrow again.
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

// Enters the queue and everything above it with the shares of now.
void FairTargets::Refresh(NodeIndex queue) {
  for (NodeIndex at = queue; at >= 0; at = tree_.parent(at)) Offer(at);
}

// The child queue with the highest share; null if none is left. Removes stale entries on the way.
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

// The same for child cohorts.
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
  // A queue without cohort can only take from itself.
  if (root_ == own_) {
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
        // An empty cohort ends this walk; the next one begins at the root again.
        cohort->dropped = true;
        break;
      }
      // On equal shares the cohort goes first: it may hold a queue with a higher share.
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
