// Explain: quota. FindFlavors runs the flavor search with a list of verdicts, once for the whole
// job and once more for each pod set that the search did not reach. LimitText and CeilingText walk
// from the queue to the root as rule A25 does, and name the first node whose borrowing limit is
// smaller than what its parent could give, else the root.
#include "schedd/core/explain/explain_quota.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "schedd/base/quantity.h"
#include "schedd/core/cycle/cycle_topology.h"

namespace muster::core {
namespace {

// "ClusterQueue team-a", "cohort all".
std::string NodeText(const QuotaTree& tree, NodeIndex node) {
  return (tree.node(node).is_cluster_queue ? "ClusterQueue " : "cohort ") + tree.node(node).name;
}

const Quota& QuotaOf(const QuotaTree& tree, NodeIndex node, FlavorResourceIndex pair) {
  return tree.node(node).quotas[static_cast<std::size_t>(pair)];
}

// The node whose limit binds, and whether that is its borrowing limit.
struct Binding {
  NodeIndex node = -1;
  bool borrowing_limit = false;
};

// The limit on what is available now.
Binding BindingOf(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair) {
  const QuotaTree& tree = usage.tree();
  NodeIndex at = queue;
  for (; tree.parent(at) >= 0; at = tree.parent(at)) {
    const QuotaTree::Cell& cell = tree.cell(at, pair);
    if (cell.borrowing_limit == kUnlimited) continue;
    // What the node could still take from its parent by its own borrowing limit (rule A25).
    const std::int64_t taken =
        std::max<std::int64_t>(0, SaturatingSub(usage.At(at, pair), cell.local));
    const std::int64_t own = SaturatingAdd(
        SaturatingSub(SaturatingSub(cell.subtree, cell.local), taken), cell.borrowing_limit);
    if (own < usage.Available(tree.parent(at), pair)) return {at, true};
  }
  return {at, false};
}

// The limit on what could be had if nothing were used.
Binding CeilingOf(const QuotaTree& tree, NodeIndex queue, FlavorResourceIndex pair) {
  const auto index = static_cast<std::size_t>(pair);
  NodeIndex at = queue;
  for (; tree.parent(at) >= 0; at = tree.parent(at)) {
    const QuotaTree::Cell& cell = tree.cell(at, pair);
    if (cell.borrowing_limit == kUnlimited) continue;
    // The most that the node could have by its own borrowing limit.
    const std::int64_t own = SaturatingAdd(cell.subtree, cell.borrowing_limit);
    if (own < SaturatingAdd(cell.local, tree.node(tree.parent(at)).potential[index])) {
      return {at, true};
    }
  }
  return {at, false};
}

// True if `node` is the queue or above it.
bool OnPath(const QuotaTree& tree, NodeIndex queue, NodeIndex node) {
  NodeIndex at = queue;
  while (at >= 0 && at != node) at = tree.parent(at);
  return at >= 0;
}

// The quota that lending limits keep from `queue`: the sum of `part(node)` over all nodes of its
// tree that are not above it.
template <class Part>
std::int64_t KeptBack(const QuotaTree& tree, NodeIndex queue, const Part& part) {
  std::int64_t kept = 0;
  for (NodeIndex at = 0; static_cast<std::size_t>(at) < tree.node_count(); ++at) {
    if (tree.node(at).root != tree.node(queue).root || OnPath(tree, queue, at)) continue;
    kept = SaturatingAdd(kept, part(at));
  }
  return kept;
}

// The amount in the usual notation of the pair's resource.
std::string Amount(const QuotaTree& tree, FlavorResourceIndex pair, std::int64_t amount) {
  return FormatQuantity(tree.pair(pair).second, amount);
}

// Adds one verdict with the limit that binds.
void AddRow(const QuotaTree& tree, const Usage& usage, NodeIndex queue,
            const Assignment& assignment, FlavorVerdict verdict,
            std::vector<FlavorFinding>* findings) {
  FlavorFinding finding;
  finding.verdict = std::move(verdict);
  const FlavorVerdict& one = finding.verdict;
  const FlavorResourceIndex pair = tree.PairIndex(one.flavor, one.resource);
  // What is missing now, or what it could never have, and the limit in each case.
  if (pair >= 0 && one.reason == Reason::kWaitingForQuota) {
    finding.missing = std::max<std::int64_t>(0, SaturatingSub(one.requested, one.available));
    if (finding.missing > 0) finding.limit = LimitText(usage, queue, pair);
  } else if (pair >= 0 && one.reason == Reason::kExceedsMaxQuota) {
    finding.limit = CeilingText(tree, queue, pair);
  }
  if (const PodSetFlavors* pod_set = assignment.Find(one.pod_set)) {
    const auto got = pod_set->flavors.find(one.resource);
    finding.chosen = got != pod_set->flavors.end() && got->second.flavor == one.flavor &&
                     assignment.Mode() == FlavorMode::kFit;
  }
  findings->push_back(std::move(finding));
}

// Adds the sentences about machines of a flavor that has quota.
void AddTopology(const JobRecord& job, const Assignment& assignment,
                 std::vector<FlavorFinding>* findings) {
  for (const PodSetFlavors& pod_set : assignment.pod_sets) {
    for (const std::string& reason : pod_set.reasons) {
      // Sentences about machines are recognized by their beginning (rule A47).
      if (!reason.starts_with("topology ")) continue;
      FlavorFinding finding;
      finding.verdict.pod_set = pod_set.name;
      for (const auto& [resource, flavor] : pod_set.flavors) {
        finding.verdict.flavor = flavor.flavor;
      }
      finding.verdict.reason = Reason::kTopologyPlacementFailed;
      finding.verdict.message = reason;
      for (const PodSet& spec : *job.pod_sets) {
        if (spec.name != pod_set.name || spec.topology == nullptr) continue;
        if (spec.topology->required) {
          finding.verdict.message += "; all must be in one " + *spec.topology->required;
        }
      }
      findings->push_back(std::move(finding));
    }
  }
}

// Adds the flavors behind the one at which the search ended.
void AddUnseen(const ClusterQueue& queue, const std::string& pod_set,
               std::vector<FlavorFinding>* findings) {
  for (const ResourceGroup& group : queue.resource_groups) {
    // The last flavor of the group that the search looked at for this pod set.
    std::string last;
    std::set<std::string> seen;
    for (const FlavorFinding& finding : *findings) {
      const FlavorVerdict& one = finding.verdict;
      const bool of_group =
          one.resource.empty() ||
          std::find(group.covered_resources.begin(), group.covered_resources.end(), one.resource) !=
              group.covered_resources.end();
      if (one.pod_set != pod_set || !of_group) continue;
      const bool listed =
          std::any_of(group.flavors.begin(), group.flavors.end(),
                      [&](const auto& entry) { return entry.flavor == one.flavor; });
      if (listed) last = one.flavor;
      seen.insert(one.flavor);
    }
    if (last.empty()) continue;  // nothing of this group was asked for
    for (const FlavorQuotas& entry : group.flavors) {
      if (seen.contains(entry.flavor)) continue;
      FlavorFinding finding;
      finding.verdict.pod_set = pod_set;
      finding.verdict.flavor = entry.flavor;
      finding.verdict.message = "not looked at: the search ended at flavor " + last;
      findings->push_back(std::move(finding));
    }
  }
}

// What is missing, relative to the request; compared exactly, as cross products.
struct Miss {
  std::int64_t missing = 0, requested = 1;
  bool operator<(const Miss& other) const {
    return static_cast<__int128>(missing) * other.requested <
           static_cast<__int128>(other.missing) * requested;
  }
};

}  // namespace

std::string BindingNode(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair) {
  return NodeText(usage.tree(), BindingOf(usage, queue, pair).node);
}

std::string LimitText(const Usage& usage, NodeIndex queue, FlavorResourceIndex pair) {
  const QuotaTree& tree = usage.tree();
  const Binding binding = BindingOf(usage, queue, pair);
  const auto amount = [&](std::int64_t value) { return Amount(tree, pair, value); };
  const std::string node = NodeText(tree, binding.node);
  if (binding.borrowing_limit) {
    return node + " may borrow " + amount(tree.cell(binding.node, pair).borrowing_limit) +
           " beyond its " + amount(tree.cell(binding.node, pair).subtree) + ", " +
           amount(usage.At(binding.node, pair)) + " are used (borrowingLimit)";
  }
  const std::int64_t used = usage.At(binding.node, pair);
  if (binding.node == queue) {
    return node + " has " + amount(QuotaOf(tree, queue, pair).nominal) + ", " + amount(used) +
           " are used (nominalQuota; it has no cohort to borrow from)";
  }
  std::string text = node + " shares " + amount(tree.cell(binding.node, pair).subtree) + ", " +
                     amount(used) + " are used";
  const std::int64_t kept =
      KeptBack(tree, queue, [&](NodeIndex at) { return usage.LocalAvailable(at, pair); });
  if (kept > 0) text += "; lendingLimits keep " + amount(kept) + " unused from it";
  return text;
}

std::string CeilingText(const QuotaTree& tree, NodeIndex queue, FlavorResourceIndex pair) {
  const Binding binding = CeilingOf(tree, queue, pair);
  const auto amount = [&](std::int64_t value) { return Amount(tree, pair, value); };
  const std::string node = NodeText(tree, binding.node);
  const QuotaTree::Cell& cell = tree.cell(binding.node, pair);
  if (binding.borrowing_limit) {
    return node + " has " + amount(cell.subtree) + " and may borrow no more than " +
           amount(cell.borrowing_limit) + " (borrowingLimit)";
  }
  if (binding.node == queue) {
    return node + " has " + amount(cell.subtree) +
           " (nominalQuota; it has no cohort to borrow from)";
  }
  std::string text = node + " shares " + amount(cell.subtree) + " in all";
  const std::int64_t kept =
      KeptBack(tree, queue, [&](NodeIndex at) { return tree.cell(at, pair).local; });
  if (kept > 0) text += "; lendingLimits keep " + amount(kept) + " more from it";
  return text;
}

std::vector<FlavorFinding> FindFlavors(const Snapshot& snapshot, const ClusterQueue& queue,
                                       const JobRecord& job) {
  std::vector<FlavorFinding> findings;
  if (job.pod_sets == nullptr) return findings;
  const QuotaTree& tree = snapshot.usage.tree();
  const NodeIndex node = tree.ClusterQueueIndex(queue.name);
  if (node < 0) return findings;
  // The search for victims is the flavor search's oracle, as in a cycle.
  static const Holders kNone;
  Usage usage = snapshot.usage;
  VictimSearch search(*snapshot.settings, snapshot.holders ? *snapshot.holders : kNone, &usage,
                      snapshot.local_usages.get());
  CycleTopology machines(snapshot.topology, *snapshot.settings);
  const auto look = [&](const JobRecord& one) {
    std::vector<FlavorVerdict> verdicts;
    AssignRequest request;
    request.oracle = &search;
    request.verdicts = &verdicts;
    const Assignment assignment = AssignFlavors(*snapshot.config, *snapshot.settings, usage, queue,
                                                one, machines.placer(), request);
    for (FlavorVerdict& verdict : verdicts) {
      AddRow(tree, usage, node, assignment, std::move(verdict), &findings);
    }
    AddTopology(one, assignment, &findings);
  };
  look(job);
  // The search ends at the first pod set that does not fit: the others are searched by themselves.
  for (const PodSet& pod_set : *job.pod_sets) {
    const bool seen = std::any_of(findings.begin(), findings.end(), [&](const auto& finding) {
      return finding.verdict.pod_set == pod_set.name;
    });
    // The second pod set of a topology group is decided together with the first.
    const bool follows = pod_set.topology != nullptr && !pod_set.topology->pod_set_group.empty();
    if (!seen && !follows) {
      JobRecord alone = job;
      alone.pod_sets = std::make_shared<const PodSets>(PodSets{pod_set});
      look(alone);
    }
    AddUnseen(queue, pod_set.name, &findings);
  }
  std::map<std::string, std::size_t> order;
  for (const PodSet& pod_set : *job.pod_sets) order.emplace(pod_set.name, order.size());
  std::stable_sort(findings.begin(), findings.end(), [&](const auto& a, const auto& b) {
    return order[a.verdict.pod_set] < order[b.verdict.pod_set];
  });
  return findings;
}

namespace {

// The rows of the flavor that is missed by least, for one pod set and resource group. A flavor is
// missed by its worst row. `asked` becomes true if the pod set asks for anything of the group.
std::vector<const FlavorFinding*> NearestRows(const ResourceGroup& group,
                                              const std::string& pod_set,
                                              const std::vector<FlavorFinding>& findings,
                                              bool* asked) {
  std::vector<const FlavorFinding*> best;
  Miss least;
  for (const FlavorQuotas& entry : group.flavors) {
    std::vector<const FlavorFinding*> rows;
    Miss worst;
    // A flavor is usable if every resource fits or may fit later.
    bool usable = true;
    for (const FlavorFinding& finding : findings) {
      const FlavorVerdict& one = finding.verdict;
      if (one.pod_set != pod_set || one.flavor != entry.flavor) continue;
      // Rows about machines say nothing about quota.
      if (one.reason == Reason::kTopologyPlacementFailed) continue;
      usable = usable && (one.reason == Reason::kNone || one.reason == Reason::kWaitingForQuota);
      if (one.resource.empty()) {
        *asked = *asked || one.reason == Reason::kNoMatchingFlavor;
        continue;
      }
      *asked = true;
      rows.push_back(&finding);
      const Miss miss{finding.missing, std::max<std::int64_t>(1, one.requested)};
      if (worst < miss) worst = miss;
    }
    if (!usable || rows.empty()) continue;
    if (best.empty() || worst < least) {
      best = std::move(rows);
      least = worst;
    }
  }
  return best;
}

}  // namespace

NearestMiss NearestOf(const QuotaTree& tree, const ClusterQueue& queue,
                      const std::vector<FlavorFinding>& findings) {
  NearestMiss nearest;
  std::vector<std::string> pod_sets;
  for (const FlavorFinding& finding : findings) {
    if (pod_sets.empty() || pod_sets.back() != finding.verdict.pod_set) {
      pod_sets.push_back(finding.verdict.pod_set);
    }
    // No group covers this resource.
    if (finding.verdict.flavor.empty()) nearest.possible = false;
  }
  std::map<FlavorResourceIndex, std::int64_t> amounts;
  std::set<FlavorResourceIndex> contested;
  for (const std::string& pod_set : pod_sets) {
    for (const ResourceGroup& group : queue.resource_groups) {
      bool asked = false;
      const auto rows = NearestRows(group, pod_set, findings, &asked);
      if (asked && rows.empty()) nearest.possible = false;
      for (const FlavorFinding* row : rows) {
        const FlavorResourceIndex pair = tree.PairIndex(row->verdict.flavor, row->verdict.resource);
        if (pair < 0) continue;
        nearest.rows.push_back(row);
        // The request of a later pod set includes what the earlier ones take.
        amounts[pair] = std::max(amounts[pair], row->verdict.requested);
        if (row->missing > 0) contested.insert(pair);
      }
    }
  }
  for (const auto& [pair, amount] : amounts) nearest.requests.push_back({pair, amount});
  nearest.contested.assign(contested.begin(), contested.end());
  return nearest;
}

}  // namespace muster::core
