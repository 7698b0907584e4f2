// PolicyFit: the placement of one job, compiled against the members of a MemberRoom: which members
// are turned away, and how the others score (rules P7 to P11). Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/core/member/placement_ask.h"

namespace muster::core {

/// Why a member is turned away.
struct FilterRefusal {
  const char* filter = "";  // ClusterVerdict::filter
  std::string message;      // "does not have label gpu=a100"
};

/// The score of one member.
struct MemberScore {
  std::int32_t spread = 0, affinity = 0;
  std::vector<ScoreTerm> terms;  // only if want_terms
};

class PolicyFit {
 public:
  /// `ask`, `room` and `placed` (null: no counts) must outlive it.
  PolicyFit(const PlacementAsk& ask, const MemberRoom& room, const PlacedCounts* placed);
  ~PolicyFit();
  PolicyFit(const PolicyFit&) = delete;
  PolicyFit& operator=(const PolicyFit&) = delete;

  /// The first filter of the policy that turns the member away, with the amounts that are free in
  /// `room` now; nullopt if none does. Whether the job has room there is not checked.
  std::optional<FilterRefusal> Filter(const MemberRoom& room, std::size_t member) const;
  /// Sets one score per member of `room`. `feasible`: the members that could be picked; with
  /// `muster.io/score-over: feasible` the extremes are taken over these.
  void Score(const MemberRoom& room, const std::vector<bool>& feasible, bool want_terms,
             std::vector<MemberScore>* scores) const;
  /// Position of the member's cluster group in the order in which groups are tried; 0 without
  /// groups. Filter refuses members of a group that is not open yet.
  std::size_t Group(std::size_t member) const;
  bool kubefleet_tie_break() const;
  /// True if the policy's tolerations decide about the member's NoSchedule and NoExecute taints.
  /// False for PickFixed and pins, where taints do not count, and if no placement governs the job
  /// (rule P10).
  bool judges_taints() const;

 private:
  struct CompiledPolicy;
  std::unique_ptr<CompiledPolicy> compiled_;
};

/// KubeFleet's sentence for a pick (rule P18): Successfully scheduled resources for placement in
/// "cluster-3" (affinity score: 70, topology spread score: 0): picked by scheduling policy.
std::string PickedSentence(const std::string& cluster, const MemberScore& score);

}  // namespace muster::core
