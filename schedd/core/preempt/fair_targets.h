// Which ClusterQueue gives up a workload next under fair sharing (KEP-1714, rule A40): from the
// root of the cohort tree down to the child with the highest share.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/preempt/victim_room.h"
#include "schedd/core/quota/fair_share.h"

namespace muster::core {

/// Shares are read from `usage` and kept; a look costs what changed since the last one.
class FairTargets {
 public:
  /// `usage` must outlive it.
  FairTargets(const Usage& usage, NodeIndex preemptor_queue);

  /// Candidates of one queue of the preemptor's tree; before the first Next, each queue once.
  void Add(CandidateList list);
  /// The queue to take from; null when none is left. Before the next call its list must get shorter
  /// or be dropped; usage may change only in this queue and what is above it.
  CandidateList* Next();
  /// No more of this queue.
  void Drop(NodeIndex queue);
  /// The child of the lowest cohort that holds the preemptor and `queue`, on the queue's side.
  NodeIndex SideOf(NodeIndex queue) const;
  /// The same on the preemptor's side.
  NodeIndex PreemptorSide(NodeIndex queue) const;

 private:
  struct Entry {
    ShareRank rank;
    const Holder* first = nullptr;  // of a queue: its next candidate
    NodeIndex node = -1;
    std::uint32_t version = 0;  // stale if the slot has moved on
  };
  using Heap = std::vector<Entry>;
  struct Slot {
    NodeIndex node = -1;
    CandidateList list{-1, {}};  // of a queue
    bool dropped = false;
    std::uint32_t version = 0;
    Heap queues, cohorts;  // the children of a cohort that can still give
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
  std::vector<bool> on_path_;          // by node: above the preemptor's queue
  std::vector<Slot> slots_;            // of nodes with candidates in or below them
  std::vector<std::int32_t> slot_of_;  // by node; -1: none
  NodeIndex last_ = -1;                // what the last Next gave
  bool ready_ = false;
};

}  // namespace muster::core
