// Selectors of placements over member clusters: the labels that they see, required terms, and the
// sentences about what a member misses (rule P7). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/core/member/cluster_properties.h"
#include "schedd/core/member/member_room.h"
#include "schedd/model/placement.h"

namespace muster::core {

/// The label that KubeFleet gives to every member; its value is the member's name.
inline constexpr const char* kMemberNameLabel = "kubernetes-fleet.io/member-name";

/// Labels of members as a policy sees them: with kMemberNameLabel if the policy uses this label.
class MemberLabels {
 public:
  /// The members of `room` must outlive it.
  MemberLabels(const MemberRoom& room, const PlacementPolicy& policy);
  const LabelMap& of(std::size_t member) const {
    return named_.empty() ? *declared_[member] : named_[member];
  }

 private:
  std::vector<const LabelMap*> declared_;
  std::vector<LabelMap> named_;  // with kMemberNameLabel; empty if the policy does not use it
};

/// A ClusterSelectorTerm, compiled.
class RequiredTerm {
 public:
  /// `term` must outlive it.
  RequiredTerm(const ClusterSelectorTerm& term, const MemberRoom& room);

  bool Passes(const LabelMap& labels, const MemberRoom& room, std::size_t member) const;
  /// One sentence for each label and property that does not match: "does not have label gpu=a100".
  std::vector<std::string> Misses(const LabelMap& labels, const MemberRoom& room,
                                  std::size_t member) const;

 private:
  const ClusterSelectorTerm* term_;
  std::vector<PropertyTest> tests_;
};

/// "gpu=a100, region In (eu, us)"; "" if it selects everything.
std::string SelectorText(const LabelSelector& selector);

}  // namespace muster::core
