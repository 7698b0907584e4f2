// PolicyFit: what governs one job's placement, compiled against the members of a MemberRoom: who is
// turned away, and how the others score (rules P7 to P11). Pure; not
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/core/member/placement_ask.h"

namespace muster::core {

/// Why a member is not for a job.
struct FilterRefusal {
  const char* filter = "";  // ClusterVerdict::filter
  std::string message;      // "does not have label gpu=a100"
};

struct MemberScore {
  std::int32_t spread = 0, affinity = 0;
  std::vector<ScoreTerm> terms;  // only if asked for
};

class PolicyFit {
 public:
  /// `ask`, `room` and `placed` (null: none counts) must outlive it.
  PolicyFit(const PlacementAsk& ask, const MemberRoom& room, const PlacedCounts* placed);
  ~PolicyFit();
  PolicyFit(const PolicyFit&) = delete;
  PolicyFit& operator=(const PolicyFit&) = delete;

  /// nullopt if nothing of the policy turns the job away from the member, with what is free in
  /// `room` now. Room itself is not looked at.
  std::optional<FilterRefusal> Filter(const MemberRoom& room, std::size_t member) const;
  /// Sets one score per member of `room`. `feasible` says which of them could be picked: what
  /// score-over: feasible takes extremes over.
  void Score(const MemberRoom& room, const std::vector<bool>& feasible, bool want_terms,
             std::vector<MemberScore>* scores) const;
  /// Position of the member's group in the order in which groups are tried; 0 without groups.
  /// Members of a group that is not open yet are refused by Filter.
  std::size_t Group(std::size_t member) const;
  bool kubefleet_tie_break() const;
  /// PickFixed and a pin judge no taints (rule P10); else the member's NoSchedule and
  /// NoExecute taints are judged by the policy's tolerations, not by those of pods.
  bool judges_taints() const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

/// The sentence that KubeFleet writes for a pick (rule P18): Successfully scheduled
/// resources for placement in "cluster-3" (affinity score: 70, topology spread score: 0): picked by
/// scheduling policy.
std::string PickedSentence(const std::string& cluster, const MemberScore& score);

}  // namespace muster::core
