// Topology spread (rule P9). The fewest, second fewest and most jobs of all domains are kept, so
// that both questions about a member are answered without a walk over the domains. The second
// fewest tells whether a domain with the fewest jobs is the only one: only then one more job there
// lowers the skew.
#include "schedd/core/member/cluster_spread.h"

#include <algorithm>

namespace muster::core {

// Domains are numbered in the order in which members show their values.
SpreadRule::SpreadRule(const ClusterSpread& asked, const std::vector<std::string>& members,
                       const std::function<const LabelMap&(std::size_t)>& labels)
    : asked_(&asked) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    member_of_.emplace(members[i], i);
    const auto label = labels(i).find(asked.topology_key);
    std::size_t domain = kNoDomain;
    if (label != labels(i).end()) {
      const auto known = std::find(domains_.begin(), domains_.end(), label->second);
      domain = static_cast<std::size_t>(known - domains_.begin());
      if (known == domains_.end()) domains_.push_back(label->second);
    }
    domain_of_.push_back(domain);
  }
  Count({});
}

void SpreadRule::Count(const MemberCounts& placed) {
  if (counted_ == placed) return;
  counted_ = placed;
  jobs_.assign(domains_.size(), 0);
  for (const auto& [name, jobs] : placed) {
    const auto member = member_of_.find(name);
    if (member == member_of_.end() || domain_of_[member->second] == kNoDomain) continue;
    jobs_[domain_of_[member->second]] += jobs;
  }
  if (jobs_.empty()) return;
  std::vector<std::int64_t> sorted = jobs_;
  std::sort(sorted.begin(), sorted.end());
  least_ = sorted.front();
  second_least_ = sorted[std::min<std::size_t>(1, sorted.size() - 1)];
  most_ = sorted.back();
}

bool SpreadRule::Breaks(std::size_t member) const {
  const std::size_t domain = domain_of_[member];
  return domain != kNoDomain && jobs_[domain] + 1 - least_ > asked_->max_skew;
}

// The skew is most - least. One more job raises it if the domain has the most already (or all are
// equal), and lowers it only if the domain alone has the fewest.
std::int32_t SpreadRule::SkewChange(std::size_t member) const {
  const std::size_t domain = domain_of_[member];
  if (domain == kNoDomain) return 0;
  if (most_ == least_) return 1;
  if (jobs_[domain] == least_ && least_ != second_least_) return -1;
  return jobs_[domain] == most_ ? 1 : 0;
}

std::string SpreadRule::Sentence(std::size_t member) const {
  const std::size_t domain = domain_of_[member];
  if (domain == kNoDomain) return "";
  return asked_->topology_key + "=" + domains_[domain] + " has " + std::to_string(jobs_[domain]) +
         (jobs_[domain] == 1 ? " job" : " jobs") + " of it, the least is " +
         std::to_string(least_) + ", maxSkew is " + std::to_string(asked_->max_skew);
}

}  // namespace muster::core
