// UsageDifferences: usage from scratch, by another formula than the one that keeps it up to date
// (invariant I4).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedd/base/quantity.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/model/job.h"

namespace muster::core {

// usage(cohort) = sum over children of max(0, usage(child) - local(child)), from the leaves up.
inline std::int64_t ExpectedUse(
    const QuotaTree& tree, NodeIndex at, FlavorResourceIndex pair,
    const std::map<std::pair<NodeIndex, FlavorResourceIndex>, std::int64_t>& own,
    std::vector<std::int64_t>* all) {
  const auto& node = tree.node(at);
  std::int64_t used = 0;
  if (const auto it = own.find({at, pair}); it != own.end()) used = it->second;
  for (const auto child : node.children) {
    const std::int64_t below = ExpectedUse(tree, child, pair, own, all);
    const std::int64_t kept = tree.node(child).local[static_cast<std::size_t>(pair)];
    if (below > kept) used = SaturatingAdd(used, below - kept);
  }
  (*all)[static_cast<std::size_t>(at)] = used;
  return used;
}

/// Recomputes usage from `admitted` and compares with `usage`; sentences for each difference.
inline std::vector<std::string> UsageDifferences(const Usage& usage,
                                                 const std::vector<JobPtr>& admitted) {
  const QuotaTree& tree = usage.tree();
  std::map<std::pair<NodeIndex, FlavorResourceIndex>, std::int64_t> own;
  for (const auto& job : admitted) {
    if (!job->admission) continue;
    const NodeIndex queue = tree.ClusterQueueIndex(job->admission->cluster_queue);
    if (queue < 0) continue;
    for (const auto& pod_set : job->admission->pod_sets) {
      for (const auto& [resource, flavor] : pod_set.flavors) {
        const FlavorResourceIndex pair = tree.PairIndex(flavor, resource);
        if (pair < 0) continue;
        auto& amount = own[{queue, pair}];
        amount = SaturatingAdd(amount, AmountOf(pod_set.usage, resource));
      }
    }
  }
  std::vector<std::string> differences;
  std::vector<std::int64_t> expected(tree.node_count());
  const auto pairs = static_cast<FlavorResourceIndex>(tree.flavor_resource_count());
  const auto nodes = static_cast<NodeIndex>(tree.node_count());
  for (FlavorResourceIndex pair = 0; pair < pairs; ++pair) {
    for (NodeIndex at = 0; at < nodes; ++at) {
      if (tree.node(at).parent < 0) ExpectedUse(tree, at, pair, own, &expected);
    }
    for (NodeIndex at = 0; at < nodes; ++at) {
      const std::int64_t right = expected[static_cast<std::size_t>(at)];
      if (usage.At(at, pair) == right) continue;
      const auto& [flavor, resource] = tree.pair(pair);
      const std::string recorded = FormatQuantity(resource, usage.At(at, pair));
      differences.push_back(tree.node(at).name + ": " + recorded + " " + resource + " of flavor " +
                            flavor + " recorded, " + FormatQuantity(resource, right) + " admitted");
    }
  }
  return differences;
}

}  // namespace muster::core
