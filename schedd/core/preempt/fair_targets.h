// FairTargets: which ClusterQueue gives up a workload next under fair sharing (KEP-1714, rule A40).
// It walks from the root of the cohort tree down to the child with the highest share.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/preempt/victim_room.h"
#include "schedd/core/quota/fair_share.h"

namespace muster::core {

/// Shares are read from `usage` and kept in heaps; a call of Next recomputes only the shares that
/// can have changed since the last call.
class FairTargets {
 public:
  /// `usage` must outlive this object.
  FairTargets(const Usage& usage, NodeIndex preemptor_queue);

  /// Adds the candidates of one queue of the preemptor's tree. To be called before the first Next,
  /// at most once per queue.
  void Add(CandidateList list);
  /// The candidates of the queue to take from; null when none is left. Before the next call the
  /// caller must shorten the list or drop the queue. Meanwhile usage may change only in this queue
  /// and in the cohorts above it.
  CandidateList* Next();
  /// Takes no more candidates of this queue.
  void Drop(NodeIndex queue);
  /// The child, on the side of `queue`, of the lowest cohort that holds both `queue` and the
  /// preemptor.
  NodeIndex SideOf(NodeIndex queue) const;
  /// The child of the same cohort on the preemptor's side.
  NodeIndex PreemptorSide(NodeIndex queue) const;

 private:
  /// One element of a heap. It is stale, and skipped, if its version is not that of its slot.
  struct Entry {
    ShareRank rank;
    const Holder* first = nullptr;  // only of a queue: its next candidate
    NodeIndex node = -1;
    std::uint32_t version = 0;
  };
  using Heap = std::vector<Entry>;
  /// The state of one node with candidates in it or below it.
  struct Slot {
    NodeIndex node = -1;
    CandidateList list{-1, {}};  // only of a queue
    bool dropped = false;        // gives nothing any more
    std::uint32_t version = 0;
    Heap queues, cohorts;  // only of a cohort: its children that can still give
  };

  Slot& SlotOf(NodeIndex node) {
    return slots_[static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(node)])];
  }
  void Enter(NodeIndex node);
  bool OnPath(NodeIndex cohort) const { return on_path_[static_cast<std::size_t>(cohort)]; }
  void Offer(NodeIndex node);
  void Refresh(NodeIndex queue);
  bool QueueBelow(const Entry& a, const Entry& b) const;
  static bool CohortBelow(const Entry& a, const Entry& b);
  const Entry* TopQueue(Slot* cohort);
  const Entry* TopCohort(Slot* cohort);

  const Usage& usage_;
  const QuotaTree& tree_;
  const NodeIndex own_;
  const NodeIndex root_;
  std::vector<bool> on_path_;          // by node: true above the preemptor's queue
  std::vector<Slot> slots_;            // only nodes with candidates in or below them
  std::vector<std::int32_t> slot_of_;  // by node: position in slots_; -1: none
  NodeIndex last_ = -1;                // the queue that the last Next returned
  bool ready_ = false;
};

}  // namespace muster::core
