// Classical preemption (KEP-83, KEP-1337, KEP-79; rule A37): victims by place in the cohort tree,
// by priority and by time of reservation.
#pragma once

#include <cstdint>
#include <vector>

#include "schedd/core/preempt/victim_room.h"

namespace muster::core {

/// The candidates of several queues as one list: evicted ones first, then the lower rank, then the
/// order TakenBefore. The rank is the kind of candidate (preemption_classical.cc).
class CandidateMerge {
 public:
  struct Source {
    CandidateList list;
    int rank = 0;
    NodeIndex common = -1;  // the lowest cohort above both this queue and the preemptor's
  };

  /// Empty lists are left out.
  void Add(Source source);
  bool empty() const { return heap_.empty(); }
  /// True if a source of this rank was added.
  bool HasRank(int rank) const;
  /// The source of the next candidate. Not to be called if empty.
  const Source& top() const { return sources_[heap_.front()]; }
  /// Takes the next candidate.
  const HolderPtr* Pop();
  /// Leaves out all further candidates of the top source.
  void DropTop();

 private:
  bool After(std::size_t a, std::size_t b) const;
  std::vector<Source> sources_;
  std::vector<std::size_t> heap_;  // positions of the sources that are not empty
};

/// The victims; empty if no victims make enough room. Restores `room` before it returns.
std::vector<Victim> ClassicalVictims(const VictimQuery& query, VictimRoom* room);

}  // namespace muster::core
