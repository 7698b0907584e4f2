// SpreadRule: one topology spread constraint of a placement over the members of a MemberRoom: which
// members may take one more job, and at what score (rule P9). Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/member/cluster_view.h"
#include "schedd/model/placement.h"

namespace muster::core {

/// A domain is all members with the same value of the label. A cordoned member is in no domain
/// (Kubernetes: nodeTaintsPolicy Honor).
class SpreadRule {
 public:
  /// Jobs by member.
  using MemberCounts = std::map<std::string, std::int32_t>;

  /// `asked` must outlive it; `labels` gives the labels of each of `members`, by position.
  SpreadRule(const ClusterSpread& asked, const std::vector<std::string>& members,
             const std::function<const LabelMap&(std::size_t)>& labels);

  const ClusterSpread& asked() const { return *asked_; }
  /// Sets the jobs that are placed; cheap if they have not changed since the last call.
  void Count(const MemberCounts& placed);
  /// True if one more job on this member gives its domain more than max_skew jobs above the domain
  /// with the fewest. KubeFleet compares the largest domain instead, and then takes no member at
  /// all once the skew is too large. That happens to jobs, because they end; here the domains that
  /// are behind still take jobs. As long as the skew is within its limit both rules agree.
  bool Breaks(std::size_t member) const;
  /// The change of the skew by one more job on this member: -1, 0 or 1, as KubeFleet counts it.
  std::int32_t SkewChange(std::size_t member) const;
  /// "topology.kubernetes.io/zone=a has 3 jobs of it, the least is 1, maxSkew is 1".
  std::string Sentence(std::size_t member) const;

 private:
  static constexpr std::size_t kNoDomain = static_cast<std::size_t>(-1);

  const ClusterSpread* asked_;
  std::map<std::string, std::size_t> member_of_;  // position by name
  std::vector<std::size_t> domain_of_;            // by member
  std::vector<std::string> domains_;              // label values
  std::vector<std::int64_t> jobs_;                // by domain
  std::int64_t least_ = 0, second_least_ = 0, most_ = 0;
  std::optional<MemberCounts> counted_;
};

}  // namespace muster::core
