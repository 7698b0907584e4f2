// Classical preemption (KEP-83, 1337, 79; rule A37): victims by place in the cohort tree, by
// priority and by time of reservation.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/preempt/victim_room.h"

namespace muster::core {

/// Several queues' candidates as one list: evicted ones first, then the lower rank, then
/// TakenBefore.
class CandidateMerge {
 public:
  struct Source {
    CandidateList list;
    int rank = 0;
    NodeIndex common = -1;  // lowest cohort that holds both this queue and the preemptor's
  };

  /// Empty lists are left out.
  void Add(Source source);
  bool empty() const { return heap_.empty(); }
  bool HasRank(int rank) const;
  /// The source whose head comes next; not if empty.
  const Source& top() const { return sources_[heap_.front()]; }
  /// Takes the next candidate.
  const HolderPtr* Pop();
  /// Leaves out all that the top source still has.
  void DropTop();

 private:
  bool After(std::size_t a, std::size_t b) const;
  std::vector<Source> sources_;
  std::vector<std::size_t> heap_;  // of those that are not empty
};

/// The victims; empty if none would do. `room` is as before when it returns.
std::vector<Victim> ClassicalVictims(const VictimQuery& query, VictimRoom* room);

}  // namespace muster::core
