// ClusterSpread of one placement over the members of a MemberRoom: who may take one more job, and
// what that costs (rule P9). Pure; not thread-safe.
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

/// One constraint. A domain is every member with the same value of the label, jobs or none; a
/// member that is cordoned is in none (Kubernetes: nodeTaintsPolicy Honor).
class SpreadRule {
 public:
  using MemberCounts = std::map<std::string, std::int32_t>;  // jobs by member

  /// `asked` must outlive it; `labels` gives the labels of each of `members`, in their order.
  SpreadRule(const ClusterSpread& asked, const std::vector<std::string>& members,
             const std::function<const LabelMap&(std::size_t)>& labels);

  const ClusterSpread& asked() const { return *asked_; }
  /// Counts the jobs that are placed; cheap if they are those of the last time.
  void Count(const MemberCounts& placed);
  /// True if one more job there makes its domain have more than max_skew jobs more than the one
  /// with the fewest. KubeFleet looks at the skew of all domains instead and then takes nobody once
  /// it is too large, which happens to jobs because they end: here the domains that are behind
  /// still take them. As long as the skew is kept the two say the same.
  bool Breaks(std::size_t member) const;
  /// By how much one more job there changes the skew: -1, 0 or 1, as KubeFleet counts it.
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
