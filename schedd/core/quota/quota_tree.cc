// QuotaTree::Build: from the configuration to the cohort forest of rule A25.
//
// Queues, cohorts and (flavor, resource) pairs become indices in name order, so that lookups are
// binary searches and every walk has a fixed order. Quotas are then computed in two passes over
// each tree:
//
//   upwards    subtree(n) = nominal(n) + sum over children c of (subtree(c) - local(c))
//              local(n)   = max(0, subtree(n) - lendingLimit), 0 without a limit
//   downwards  potential(n) = local(n) + potential(parent), at most subtree(n) + borrowingLimit
//
// Cohorts that name each other as parents in a circle cannot be summed up. Every node from which
// the walk upwards never ends is cut loose and marked; its queues admit nothing, and the other
// trees are not affected.
#include "schedd/core/quota/quota_tree.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

std::size_t At(NodeIndex index) { return static_cast<std::size_t>(index); }

}  // namespace

// Collects names and pairs, makes the nodes, links parents, cuts cycles, then computes the quotas
// of each tree from its root.
class QuotaTreeBuilder {
 public:
  explicit QuotaTreeBuilder(const ConfigView& config) : config_(config) {}

  std::shared_ptr<const QuotaTree> Build() {
    CollectPairs();
    MakeNodes();
    LinkParents();
    CutCycles();
    for (NodeIndex i = 0; At(i) < nodes().size(); ++i) {
      if (nodes()[At(i)].parent >= 0) continue;
      SettleSubtree(i, i);
      SettlePotential(i);
    }
    LayOutCells();
    return tree_;
  }

 private:
  std::vector<QuotaTree::Node>& nodes() { return tree_->nodes_; }

  // Calls `visit` for every resource group of every queue and cohort.
  template <class Visit>
  void ForEachGroup(const Visit& visit) const {
    for (const auto& [name, queue] : config_.cluster_queues) {
      for (const auto& group : queue.resource_groups) visit(group);
    }
    for (const auto& [name, cohort] : config_.cohorts) {
      for (const auto& group : cohort.resource_groups) visit(group);
    }
  }

  // Every pair that some quota names, sorted by flavor and resource; the resources sorted by name.
  void CollectPairs() {
    std::set<std::pair<std::string, std::string>> pairs;
    ForEachGroup([&pairs](const ResourceGroup& group) {
      for (const auto& flavor : group.flavors) {
        for (const auto& entry : flavor.resources) pairs.emplace(flavor.flavor, entry.first);
      }
    });
    tree_->flavor_resources_.assign(pairs.begin(), pairs.end());
    std::set<std::string> resources;
    for (const auto& [flavor, resource] : pairs) resources.insert(resource);
    tree_->resources_.assign(resources.begin(), resources.end());
    for (const auto& [flavor, resource] : pairs) {
      const auto at =
          std::lower_bound(tree_->resources_.begin(), tree_->resources_.end(), resource);
      tree_->pair_resources_.push_back(static_cast<ResourceIndex>(at - tree_->resources_.begin()));
    }
  }

  // ClusterQueues first, then cohorts, each sorted by name. Cohorts are those that are declared and
  // those that a queue or a declared cohort names.
  void MakeNodes() {
    std::set<std::string> cohorts;
    for (const auto& [name, queue] : config_.cluster_queues) {
      AddNode(name, true, queue.resource_groups);
      nodes().back().fair_weight = queue.fair_weight;
      nodes().back().preemption = queue.preemption;
      if (!queue.cohort.empty()) cohorts.insert(queue.cohort);
    }
    tree_->queue_count_ = nodes().size();
    for (const auto& [name, cohort] : config_.cohorts) {
      cohorts.insert(name);
      if (!cohort.parent.empty()) cohorts.insert(cohort.parent);
    }
    static const std::vector<ResourceGroup> kNoGroups;
    for (const auto& name : cohorts) {
      const auto declared = config_.cohorts.find(name);
      AddNode(name, false,
              declared == config_.cohorts.end() ? kNoGroups : declared->second.resource_groups);
      if (declared != config_.cohorts.end()) {
        nodes().back().fair_weight = declared->second.fair_weight;
      }
    }
  }

  void AddNode(const std::string& name, bool is_queue, const std::vector<ResourceGroup>& groups) {
    QuotaTree::Node node;
    node.name = name;
    node.is_cluster_queue = is_queue;
    const std::size_t pairs = tree_->flavor_resource_count();
    node.quotas.resize(pairs);
    node.subtree.resize(pairs);
    node.local.resize(pairs);
    for (const auto& group : groups) {
      for (const auto& flavor : group.flavors) {
        for (const auto& [resource, quota] : flavor.resources) {
          const FlavorResourceIndex pair = tree_->PairIndex(flavor.flavor, resource);
          node.quotas[At(pair)] = quota;
          node.pairs.push_back(pair);
        }
      }
    }
    SortOnce(&node.pairs);
    nodes().push_back(std::move(node));
  }

  void LinkParents() {
    for (auto& node : nodes()) {
      std::string parent;
      if (node.is_cluster_queue) {
        parent = config_.cluster_queues.at(node.name).cohort;
      } else if (const auto it = config_.cohorts.find(node.name); it != config_.cohorts.end()) {
        parent = it->second.parent;
      }
      if (!parent.empty()) node.parent = tree_->CohortIndex(parent);
    }
  }

  // A walk of more steps upwards than there are nodes has met a cycle. The node itself need not be
  // on it: everything below a cycle is cut loose too.
  void CutCycles() {
    std::vector<bool> cyclic(nodes().size());
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      NodeIndex at = static_cast<NodeIndex>(i);
      std::size_t steps = 0;
      while (at >= 0 && steps <= nodes().size()) {
        at = nodes()[At(at)].parent;
        ++steps;
      }
      cyclic[i] = at >= 0;
    }
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      auto& node = nodes()[i];
      if (cyclic[i]) {
        node.in_cycle = true;
        node.parent = -1;
      } else if (node.parent >= 0) {
        nodes()[At(node.parent)].children.push_back(static_cast<NodeIndex>(i));
      }
    }
  }

  // Depth first from the root: sets roots on the way down; heights, pairs, subtree and local quotas
  // on the way up (rule A25).
  void SettleSubtree(NodeIndex index, NodeIndex root) {
    auto& node = nodes()[At(index)];
    node.root = root;
    for (const auto child : node.children) {
      SettleSubtree(child, root);
      const auto& below = nodes()[At(child)];
      node.height = std::max(node.height, below.height + 1);
      node.pairs.insert(node.pairs.end(), below.pairs.begin(), below.pairs.end());
    }
    SortOnce(&node.pairs);
    for (std::size_t pair = 0; pair < node.quotas.size(); ++pair) {
      const auto& quota = node.quotas[pair];
      std::int64_t subtree = quota.nominal;
      for (const auto child : node.children) {
        const auto& below = nodes()[At(child)];
        subtree = SaturatingAdd(subtree, SaturatingSub(below.subtree[pair], below.local[pair]));
      }
      node.subtree[pair] = subtree;
      if (quota.lending_limit) {
        node.local[pair] = std::max<std::int64_t>(0, SaturatingSub(subtree, *quota.lending_limit));
      }
    }
  }

  // From the root downwards: potential of rule A25, and lendable of rule A39, the sum over flavors
  // of what a cohort could have.
  void SettlePotential(NodeIndex index) {
    auto& node = nodes()[At(index)];
    node.potential = node.subtree;
    for (std::size_t pair = 0; pair < node.quotas.size() && node.parent >= 0; ++pair) {
      node.potential[pair] =
          SaturatingAdd(node.local[pair], nodes()[At(node.parent)].potential[pair]);
      if (const auto& limit = node.quotas[pair].borrowing_limit) {
        node.potential[pair] =
            std::min(node.potential[pair], SaturatingAdd(node.subtree[pair], *limit));
      }
    }
    if (node.children.empty()) return;
    node.lendable.resize(tree_->resources_.size());
    for (std::size_t pair = 0; pair < node.potential.size(); ++pair) {
      std::int64_t& sum = node.lendable[At(tree_->pair_resources_[pair])];
      sum = SaturatingAdd(sum, node.potential[pair]);
    }
    for (const auto child : node.children) SettlePotential(child);
  }

  // Copies what the hot arithmetic reads into one array.
  void LayOutCells() {
    for (const auto& node : nodes()) {
      tree_->parents_.push_back(node.parent);
      for (std::size_t pair = 0; pair < node.quotas.size(); ++pair) {
        tree_->cells_.push_back({node.subtree[pair], node.local[pair],
                                 node.quotas[pair].borrowing_limit.value_or(kUnlimited)});
      }
    }
  }

  // Sorts by resource, then pair, and drops duplicates: fair shares sum up resource by resource.
  void SortOnce(std::vector<FlavorResourceIndex>* pairs) const {
    std::sort(pairs->begin(), pairs->end(), [this](FlavorResourceIndex a, FlavorResourceIndex b) {
      return std::make_pair(tree_->ResourceOf(a), a) < std::make_pair(tree_->ResourceOf(b), b);
    });
    pairs->erase(std::unique(pairs->begin(), pairs->end()), pairs->end());
  }

  const ConfigView& config_;
  std::shared_ptr<QuotaTree> tree_ = std::make_shared<QuotaTree>();
};

std::shared_ptr<const QuotaTree> QuotaTree::Build(const ConfigView& config) {
  return QuotaTreeBuilder(config).Build();
}

namespace {

// The index of the node with this name among [first, last), which is sorted by name; -1: none.
template <class It>
NodeIndex FindNamed(It begin, It first, It last, std::string_view name) {
  const auto at = std::lower_bound(
      first, last, name,
      [](const QuotaTree::Node& node, std::string_view wanted) { return node.name < wanted; });
  return at == last || at->name != name ? -1 : static_cast<NodeIndex>(at - begin);
}

}  // namespace

std::string QuotaTree::Path(NodeIndex index) const {
  std::string path;
  for (NodeIndex at = index; at >= 0; at = node(at).parent) path.insert(0, "/" + node(at).name);
  return path;
}

NodeIndex QuotaTree::ClusterQueueIndex(std::string_view name) const {
  const auto end_of_queues = nodes_.begin() + static_cast<std::ptrdiff_t>(queue_count_);
  return FindNamed(nodes_.begin(), nodes_.begin(), end_of_queues, name);
}

NodeIndex QuotaTree::CohortIndex(std::string_view name) const {
  const auto end_of_queues = nodes_.begin() + static_cast<std::ptrdiff_t>(queue_count_);
  return FindNamed(nodes_.begin(), end_of_queues, nodes_.end(), name);
}

FlavorResourceIndex QuotaTree::PairIndex(std::string_view flavor, std::string_view resource) const {
  using View = std::pair<std::string_view, std::string_view>;
  const View wanted{flavor, resource};
  const auto at =
      std::lower_bound(flavor_resources_.begin(), flavor_resources_.end(), wanted,
                       [](const std::pair<std::string, std::string>& entry, const View& key) {
    return View{entry.first, entry.second} < key;
      });
  if (at == flavor_resources_.end() || View{at->first, at->second} != wanted) return -1;
  return static_cast<FlavorResourceIndex>(at - flavor_resources_.begin());
}

}  // namespace muster::core
