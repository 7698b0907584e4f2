// ClusterQueues and cohorts are both nodes of the quota tree and are judged alike. Every cohort
// above a node counts, so quota cannot be moved from one cohort of another owner into another
// either. Names of ClusterQueues and of cohorts are told apart by the key of a node.
#include "api/service/quota_rights.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/service/resource_refs.h"
#include "schedd/base/quantity.h"
#include "schedd/base/saturating.h"

namespace muster::api {
namespace {

using FlavorResource = std::pair<std::string, std::string>;
using QuotaByPair = std::map<FlavorResource, Quota>;
using SumByPair = std::map<FlavorResource, std::int64_t>;

// What the rule compares of a ClusterQueue or a cohort.
struct QuotaNode {
  std::string parent;  // "": none
  QuotaByPair quotas;
};
// By (is a ClusterQueue, name).
using NodeKey = std::pair<bool, std::string>;
using QuotaNodes = std::map<NodeKey, QuotaNode>;

QuotaByPair QuotasOf(const std::vector<ResourceGroup>& groups) {
  QuotaByPair quotas;
  for (const ResourceGroup& group : groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const auto& [resource, quota] : flavor.resources)
        quotas[{flavor.flavor, resource}] = quota;
    }
  }
  return quotas;
}

QuotaNodes NodesOf(const ConfigView& config) {
  QuotaNodes nodes;
  for (const auto& [name, queue] : config.cluster_queues)
    nodes[{true, name}] = {queue.cohort, QuotasOf(queue.resource_groups)};
  for (const auto& [name, cohort] : config.cohorts)
    nodes[{false, name}] = {cohort.parent, QuotasOf(cohort.resource_groups)};
  return nodes;
}

// The nominal quota of each cohort with everything below it.
std::map<std::string, SumByPair> SumsOf(const QuotaNodes& nodes) {
  std::map<std::string, SumByPair> sums;
  for (const auto& [key, node] : nodes) {
    // The cohort itself counts, and so does every cohort above; each once, should they be in a
    // circle.
    std::set<std::string> seen;
    std::string at = key.first ? node.parent : key.second;
    while (!at.empty() && seen.insert(at).second) {
      SumByPair& sum = sums[at];
      for (const auto& [pair, quota] : node.quotas)
        sum[pair] = SaturatingAdd(sum[pair], quota.nominal);
      const auto above = nodes.find({false, at});
      at = above == nodes.end() ? "" : above->second.parent;
    }
  }
  return sums;
}

class QuotaJudge {
 public:
  QuotaJudge(const auth::Authorizer& authorizer, const auth::Principal& who)
      : authorizer_(authorizer), who_(who) {}

  // Done if the caller may update the cohort; else the refusal with `why`.
  Status MustOwn(const std::string& cohort, const std::string& why) {
    if (cohort.empty()) return Done{};
    const auto known = owned_.find(cohort);
    const Status answer =
        known != owned_.end()
            ? known->second
            : owned_
                  .emplace(cohort,
                           authorizer_.Authorize(who_, auth::Verb::kUpdate, CohortRef(cohort)))
                  .first->second;
    if (answer.ok()) return answer;
    return Error{answer.error().code, answer.error().detail + ": " + why};
  }

  Status JudgeSums(const QuotaNodes& before, const QuotaNodes& after) {
    const auto old_sums = SumsOf(before);
    for (const auto& [cohort, sums] : SumsOf(after)) {
      const auto old = old_sums.find(cohort);
      for (const auto& [pair, sum] : sums) {
        std::int64_t was = 0;
        if (old != old_sums.end()) {
          const auto amount = old->second.find(pair);
          if (amount != old->second.end()) was = amount->second;
        }
        if (sum <= was) continue;
        const Status owned =
            MustOwn(cohort, "the nominal quota of " + pair.second + " in flavor " + pair.first +
                                " below cohort \"" + cohort + "\" would grow from " +
                                FormatQuantity(pair.second, was) + " to " +
                                FormatQuantity(pair.second, sum));
        if (!owned.ok()) return owned;
      }
    }
    return Done{};
  }

  Status JudgeNode(const std::string& name, const QuotaNode& before, const QuotaNode& after) {
    if (before.parent != after.parent) {
      const Status left = MustOwn(before.parent, name + " would leave it");
      return left.ok() ? MustOwn(after.parent, name + " would join it") : left;
    }
    return Done{};
  }

 private:
  const auth::Authorizer& authorizer_;
  const auth::Principal& who_;
  std::map<std::string, Status> owned_;  // by cohort
};

}  // namespace

bool OwnsAllCohorts(const auth::Authorizer& authorizer, const auth::Principal& who) {
  return authorizer.Allows(who, auth::Verb::kUpdate, CohortRef(""));
}

Status CheckQuotaRights(const auth::Authorizer& authorizer, const auth::Principal& who,
                        const ConfigView& before, const ConfigView& after) {
  const QuotaNodes old_nodes = NodesOf(before), nodes = NodesOf(after);
  QuotaJudge judge(authorizer, who);
  for (const auto& [key, node] : nodes) {
    const auto old = old_nodes.find(key);
    // A new ClusterQueue, and a cohort that was only named, were in no cohort.
    const Status kept = judge.JudgeNode((key.first ? "ClusterQueue " : "cohort ") + key.second,
                                        old == old_nodes.end() ? QuotaNode{} : old->second, node);
    if (!kept.ok()) return kept;
  }
  for (const auto& [key, node] : old_nodes) {
    // A cohort that is no longer declared leaves its parent with all that is below it; a
    // ClusterQueue that is deleted takes nothing from anybody.
    if (key.first || nodes.contains(key)) continue;
    const Status kept = judge.JudgeNode("cohort " + key.second, node, QuotaNode{});
    if (!kept.ok()) return kept;
  }
  return judge.JudgeSums(old_nodes, nodes);
}

}  // namespace muster::api
